-- Users and groups that identity providers manage by SCIM, and the tokens that
-- they authenticate with, stored as hashes. An account without a row is listed
-- under its email address. `withdrawn_at` hides a user whom a client deleted.
CREATE TABLE scim_tokens (
    id         BLOB NOT NULL PRIMARY KEY,
    name       TEXT NOT NULL,
    hash       BLOB NOT NULL UNIQUE,
    scopes     TEXT NOT NULL,
    created_by BLOB REFERENCES accounts (id) ON DELETE SET NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER
) STRICT;
CREATE INDEX scim_tokens_of_creator ON scim_tokens (created_by);
CREATE TABLE scim_users (
    user_id          BLOB NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    user_name        TEXT,
    user_name_folded TEXT UNIQUE,
    external_id      TEXT UNIQUE,
    given_name       TEXT,
    family_name      TEXT,
    updated_at       INTEGER NOT NULL,
    withdrawn_at     INTEGER
) STRICT;
ALTER TABLE user_groups ADD COLUMN external_id TEXT;
CREATE UNIQUE INDEX user_groups_by_external_id ON user_groups (external_id);
INSERT INTO locks (name, turn) VALUES ('scim-tokens', 0);
