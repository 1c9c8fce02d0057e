-- What operators give their people: plugins, personas, policies. One number
-- counts every change of any of it.
CREATE TABLE catalogue (
    id      INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    version INTEGER NOT NULL
) STRICT;
INSERT INTO catalogue (id, version) VALUES (1, 1);

CREATE TABLE plugins (
    id           BLOB NOT NULL PRIMARY KEY,
    kind         TEXT NOT NULL,
    name         TEXT NOT NULL,
    description  TEXT,
    icon_url     TEXT,
    config_json  TEXT NOT NULL,
    version      TEXT NOT NULL,
    is_preloaded INTEGER NOT NULL,
    is_active    INTEGER NOT NULL,
    cab_hash     TEXT,
    cab_size     INTEGER,
    updated_at   INTEGER NOT NULL,
    deleted_at   INTEGER
) STRICT;
-- Plugins that are not preloaded are for the groups named here.
CREATE TABLE group_plugins (
    group_id  BLOB NOT NULL REFERENCES user_groups (id) ON DELETE CASCADE,
    plugin_id BLOB NOT NULL REFERENCES plugins (id) ON DELETE CASCADE,
    PRIMARY KEY (group_id, plugin_id)
) STRICT, WITHOUT ROWID;
INSERT INTO plugins (id, kind, name, description, config_json, version, is_preloaded, is_active, updated_at) VALUES
    (X'10000000000000000000000000000001', 'builtin_tool_pack', 'Memory', 'Remembers what it is told.',
     '{"handlerId":"memory","defaultEnabled":true}', '1.0.0', 1, 1, 1795305600000000),
    (X'10000000000000000000000000000002', 'builtin_tool_pack', 'Todo', 'Keeps lists of what is to be done.',
     '{"handlerId":"todo","defaultEnabled":true}', '1.0.0', 1, 1, 1795305600000000),
    (X'10000000000000000000000000000003', 'builtin_tool_pack', 'Reminder', 'Reminds of what is due.',
     '{"handlerId":"reminder","defaultEnabled":true}', '1.0.0', 1, 1, 1795305600000000);

CREATE TABLE managed_personas (
    id               BLOB NOT NULL PRIMARY KEY,
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
    is_active        INTEGER NOT NULL,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    deleted_at       INTEGER
) STRICT;
CREATE TABLE group_personas (
    group_id   BLOB NOT NULL REFERENCES user_groups (id) ON DELETE CASCADE,
    persona_id BLOB NOT NULL REFERENCES managed_personas (id) ON DELETE CASCADE,
    PRIMARY KEY (group_id, persona_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE persona_plugins (
    persona_id BLOB NOT NULL REFERENCES managed_personas (id) ON DELETE CASCADE,
    plugin_id  BLOB NOT NULL REFERENCES plugins (id) ON DELETE CASCADE,
    PRIMARY KEY (persona_id, plugin_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE client_policies (
    id          BLOB NOT NULL PRIMARY KEY,
    name        TEXT NOT NULL,
    description TEXT,
    document    TEXT NOT NULL,
    updated_at  INTEGER NOT NULL,
    deleted_at  INTEGER
) STRICT;
ALTER TABLE user_groups ADD COLUMN client_policy_id BLOB REFERENCES client_policies (id);
