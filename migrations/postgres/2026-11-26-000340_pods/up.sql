-- Connectors, with which pods connect, and the groups that may use them. The server
-- itself connects to the MCP server of one that names it; the token is sealed.
CREATE TABLE connectors (
    id          UUID NOT NULL PRIMARY KEY,
    name        TEXT NOT NULL,
    name_folded TEXT COLLATE "C" NOT NULL UNIQUE,
    operator_id UUID REFERENCES operators (id) ON DELETE SET NULL,
    created_at  TIMESTAMPTZ NOT NULL,
    mcp_url     TEXT,
    mcp_token   BYTEA
);
CREATE INDEX connectors_of_operator ON connectors (operator_id) WHERE operator_id IS NOT NULL;
CREATE TABLE connector_groups (
    connector_id UUID NOT NULL REFERENCES connectors (id) ON DELETE CASCADE,
    group_id     UUID NOT NULL REFERENCES user_groups (id) ON DELETE CASCADE,
    PRIMARY KEY (connector_id, group_id)
);
CREATE INDEX connector_groups_of_group ON connector_groups (group_id);

-- Tokens of connectors, as hashes.
CREATE TABLE connector_tokens (
    hash         BYTEA NOT NULL PRIMARY KEY,
    connector_id UUID NOT NULL REFERENCES connectors (id) ON DELETE CASCADE,
    created_at   TIMESTAMPTZ NOT NULL,
    expires_at   TIMESTAMPTZ NOT NULL
);
CREATE INDEX connector_tokens_of_connector ON connector_tokens (connector_id);

-- Pods that are connected, with what they offer, and connections with MCP servers,
-- which have no token. The row of a pod whose token is deleted goes with it, and its
-- instance disconnects it.
CREATE TABLE connected_pods (
    id           UUID NOT NULL PRIMARY KEY,
    connector_id UUID NOT NULL REFERENCES connectors (id) ON DELETE CASCADE,
    token_hash   BYTEA REFERENCES connector_tokens (hash) ON DELETE CASCADE,
    host         TEXT NOT NULL,
    connected_at TIMESTAMPTZ NOT NULL,
    alive_until  TIMESTAMPTZ NOT NULL,
    calls        BIGINT NOT NULL,
    failures     BIGINT NOT NULL,
    milliseconds BIGINT NOT NULL,
    description  TEXT NOT NULL,
    is_draining  BOOLEAN NOT NULL
);
CREATE INDEX connected_pods_of_connector ON connected_pods (connector_id);
CREATE INDEX connected_pods_of_token ON connected_pods (token_hash);
CREATE INDEX connected_pods_by_life ON connected_pods (alive_until);

-- Calls of pods that are connected to another instance, sealed, for as long as
-- they take. One outlives its pod, so that its reply is read.
CREATE TABLE pod_calls (
    id         UUID NOT NULL PRIMARY KEY,
    pod_id     UUID NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    is_claimed BOOLEAN NOT NULL,
    request    BYTEA NOT NULL,
    reply      BYTEA
);
CREATE INDEX pod_calls_of_pod ON pod_calls (pod_id);
CREATE INDEX pod_calls_by_expiry ON pod_calls (expires_at);
