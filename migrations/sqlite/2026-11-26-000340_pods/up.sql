-- Connectors, with which pods connect, and the groups that may use them. The server
-- itself connects to the MCP server of one that names it; the token is sealed.
CREATE TABLE connectors (
    id          BLOB NOT NULL PRIMARY KEY,
    name        TEXT NOT NULL,
    name_folded TEXT NOT NULL UNIQUE,
    operator_id BLOB REFERENCES operators (id) ON DELETE SET NULL,
    created_at  INTEGER NOT NULL,
    mcp_url     TEXT,
    mcp_token   BLOB
);
CREATE INDEX connectors_of_operator ON connectors (operator_id) WHERE operator_id IS NOT NULL;
CREATE TABLE connector_groups (
    connector_id BLOB NOT NULL REFERENCES connectors (id) ON DELETE CASCADE,
    group_id     BLOB NOT NULL REFERENCES user_groups (id) ON DELETE CASCADE,
    PRIMARY KEY (connector_id, group_id)
);
CREATE INDEX connector_groups_of_group ON connector_groups (group_id);

-- Tokens of connectors, as hashes.
CREATE TABLE connector_tokens (
    hash         BLOB NOT NULL PRIMARY KEY,
    connector_id BLOB NOT NULL REFERENCES connectors (id) ON DELETE CASCADE,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL
);
CREATE INDEX connector_tokens_of_connector ON connector_tokens (connector_id);

-- Pods that are connected, with what they offer, and connections with MCP servers,
-- which have no token. The row of a pod whose token is deleted goes with it, and its
-- instance disconnects it.
CREATE TABLE connected_pods (
    id           BLOB NOT NULL PRIMARY KEY,
    connector_id BLOB NOT NULL REFERENCES connectors (id) ON DELETE CASCADE,
    token_hash   BLOB REFERENCES connector_tokens (hash) ON DELETE CASCADE,
    host         TEXT NOT NULL,
    connected_at INTEGER NOT NULL,
    alive_until  INTEGER NOT NULL,
    calls        INTEGER NOT NULL,
    failures     INTEGER NOT NULL,
    milliseconds INTEGER NOT NULL,
    description  TEXT NOT NULL,
    is_draining  BOOLEAN NOT NULL
);
CREATE INDEX connected_pods_of_connector ON connected_pods (connector_id);
CREATE INDEX connected_pods_of_token ON connected_pods (token_hash);
CREATE INDEX connected_pods_by_life ON connected_pods (alive_until);

-- Calls of pods that are connected to another instance, sealed, for as long as
-- they take. One outlives its pod, so that its reply is read.
CREATE TABLE pod_calls (
    id         BLOB NOT NULL PRIMARY KEY,
    pod_id     BLOB NOT NULL,
    expires_at INTEGER NOT NULL,
    is_claimed BOOLEAN NOT NULL,
    request    BLOB NOT NULL,
    reply      BLOB
);
CREATE INDEX pod_calls_of_pod ON pod_calls (pod_id);
CREATE INDEX pod_calls_by_expiry ON pod_calls (expires_at);
