-- Users and groups that identity providers manage by SCIM, and the tokens that
-- they authenticate with, stored as hashes. An account without a row is listed
-- under its email address. `withdrawn_at` hides a user whom a client deleted.
CREATE TABLE scim_tokens (
    id         UUID NOT NULL PRIMARY KEY,
    name       TEXT NOT NULL,
    hash       BYTEA NOT NULL UNIQUE,
    scopes     TEXT COLLATE "C" NOT NULL,
    created_by UUID REFERENCES accounts (id) ON DELETE SET NULL,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    used_at    TIMESTAMPTZ
);
CREATE INDEX scim_tokens_of_creator ON scim_tokens (created_by);
CREATE TABLE scim_users (
    user_id          UUID NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    user_name        TEXT,
    user_name_folded TEXT COLLATE "C" UNIQUE,
    external_id      TEXT COLLATE "C" UNIQUE,
    given_name       TEXT,
    family_name      TEXT,
    updated_at       TIMESTAMPTZ NOT NULL,
    withdrawn_at     TIMESTAMPTZ
);
ALTER TABLE user_groups ADD COLUMN external_id TEXT COLLATE "C";
CREATE UNIQUE INDEX user_groups_by_external_id ON user_groups (external_id);
INSERT INTO locks (name, turn) VALUES ('scim-tokens', 0);
