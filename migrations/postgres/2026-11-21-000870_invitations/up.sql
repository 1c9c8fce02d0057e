-- Leave to make an account, for whoever has the link or for one address. Of
-- the token only its hash is kept.
CREATE TABLE invitations (
    id           UUID NOT NULL PRIMARY KEY,
    hash         BYTEA NOT NULL UNIQUE,
    email_folded TEXT,
    role         TEXT NOT NULL,
    group_id     UUID REFERENCES user_groups (id) ON DELETE CASCADE,
    invited_by   UUID REFERENCES accounts (id) ON DELETE SET NULL,
    created_at   TIMESTAMPTZ NOT NULL,
    expires_at   TIMESTAMPTZ NOT NULL
);
CREATE INDEX invitations_expiry ON invitations (expires_at);
