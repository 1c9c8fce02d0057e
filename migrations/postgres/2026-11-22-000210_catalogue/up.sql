-- What operators give their people: plugins, personas, policies. One number
-- counts every change of any of it.
CREATE TABLE catalogue (
    id      INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    version BIGINT NOT NULL
);
INSERT INTO catalogue (id, version) VALUES (1, 1);

CREATE TABLE plugins (
    id           UUID NOT NULL PRIMARY KEY,
    kind         TEXT NOT NULL,
    name         TEXT NOT NULL,
    description  TEXT,
    icon_url     TEXT,
    config_json  TEXT NOT NULL,
    version      TEXT NOT NULL,
    is_preloaded BOOLEAN NOT NULL,
    is_active    BOOLEAN NOT NULL,
    cab_hash     TEXT,
    cab_size     BIGINT,
    updated_at   TIMESTAMPTZ NOT NULL,
    deleted_at   TIMESTAMPTZ
);
-- Plugins that are not preloaded are for the groups named here.
CREATE TABLE group_plugins (
    group_id  UUID NOT NULL REFERENCES user_groups (id) ON DELETE CASCADE,
    plugin_id UUID NOT NULL REFERENCES plugins (id) ON DELETE CASCADE,
    PRIMARY KEY (group_id, plugin_id)
);
INSERT INTO plugins (id, kind, name, description, config_json, version, is_preloaded, is_active, updated_at) VALUES
    ('10000000-0000-0000-0000-000000000001', 'builtin_tool_pack', 'Memory', 'Remembers what it is told.',
     '{"handlerId":"memory","defaultEnabled":true}', '1.0.0', TRUE, TRUE, '2026-11-22T00:00:00Z'),
    ('10000000-0000-0000-0000-000000000002', 'builtin_tool_pack', 'Todo', 'Keeps lists of what is to be done.',
     '{"handlerId":"todo","defaultEnabled":true}', '1.0.0', TRUE, TRUE, '2026-11-22T00:00:00Z'),
    ('10000000-0000-0000-0000-000000000003', 'builtin_tool_pack', 'Reminder', 'Reminds of what is due.',
     '{"handlerId":"reminder","defaultEnabled":true}', '1.0.0', TRUE, TRUE, '2026-11-22T00:00:00Z');

CREATE TABLE managed_personas (
    id               UUID NOT NULL PRIMARY KEY,
    name             TEXT NOT NULL,
    tagline          TEXT,
    system_prompt    TEXT NOT NULL,
    guardrails       TEXT,
    output_format    TEXT,
    expertise        TEXT,
    archetype        TEXT,
    model_type       TEXT,
    emoji            TEXT,
    accent_color     TEXT,
    tool_scope       INTEGER NOT NULL,
    reasoning_effort INTEGER,
    schema_version   INTEGER NOT NULL,
    is_active        BOOLEAN NOT NULL,
    created_at       TIMESTAMPTZ NOT NULL,
    updated_at       TIMESTAMPTZ NOT NULL,
    deleted_at       TIMESTAMPTZ
);
CREATE TABLE group_personas (
    group_id   UUID NOT NULL REFERENCES user_groups (id) ON DELETE CASCADE,
    persona_id UUID NOT NULL REFERENCES managed_personas (id) ON DELETE CASCADE,
    PRIMARY KEY (group_id, persona_id)
);
CREATE TABLE persona_plugins (
    persona_id UUID NOT NULL REFERENCES managed_personas (id) ON DELETE CASCADE,
    plugin_id  UUID NOT NULL REFERENCES plugins (id) ON DELETE CASCADE,
    PRIMARY KEY (persona_id, plugin_id)
);

CREATE TABLE client_policies (
    id          UUID NOT NULL PRIMARY KEY,
    name        TEXT NOT NULL,
    description TEXT,
    document    TEXT NOT NULL,
    updated_at  TIMESTAMPTZ NOT NULL,
    deleted_at  TIMESTAMPTZ
);
ALTER TABLE user_groups ADD COLUMN client_policy_id UUID REFERENCES client_policies (id);
