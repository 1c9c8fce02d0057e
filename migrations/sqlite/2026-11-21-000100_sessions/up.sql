CREATE TABLE sessions (
    id         BLOB NOT NULL PRIMARY KEY,
    user_id    BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    began_at   INTEGER NOT NULL,
    used_at    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_of_user ON sessions (user_id, began_at);
CREATE INDEX sessions_expiry ON sessions (expires_at);

-- Of a token only its SHA-256 is kept.
CREATE TABLE refresh_tokens (
    hash       BLOB NOT NULL PRIMARY KEY,
    session_id BLOB NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    spent_at   INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX refresh_tokens_of_session ON refresh_tokens (session_id, spent_at);
