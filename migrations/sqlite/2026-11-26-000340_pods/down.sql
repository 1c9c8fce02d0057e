DROP TABLE pod_calls;
DROP TABLE connected_pods;
DROP TABLE connector_tokens;
DROP TABLE connector_groups;
DROP TABLE connectors;
