-- Leave to make an account, for whoever has the link or for one address. Of
-- the token only its hash is kept.
CREATE TABLE invitations (
    id           BLOB NOT NULL PRIMARY KEY,
    hash         BLOB NOT NULL UNIQUE,
    email_folded TEXT,
    role         TEXT NOT NULL,
    group_id     BLOB REFERENCES user_groups (id) ON DELETE CASCADE,
    invited_by   BLOB REFERENCES accounts (id) ON DELETE SET NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX invitations_expiry ON invitations (expires_at);
