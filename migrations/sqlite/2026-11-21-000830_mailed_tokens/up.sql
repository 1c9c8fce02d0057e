-- What the links in letters are good for. Of a token only its hash is kept.
CREATE TABLE mailed_tokens (
    hash       BLOB NOT NULL PRIMARY KEY,
    user_id    BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    purpose    TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX mailed_tokens_of_user ON mailed_tokens (user_id, purpose);
CREATE INDEX mailed_tokens_expiry ON mailed_tokens (expires_at);
