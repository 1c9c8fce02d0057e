CREATE TABLE sessions (
    id         UUID NOT NULL PRIMARY KEY,
    user_id    UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    began_at   TIMESTAMPTZ NOT NULL,
    used_at    TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX sessions_of_user ON sessions (user_id, began_at);
CREATE INDEX sessions_expiry ON sessions (expires_at);

-- Of a token only its SHA-256 is kept.
CREATE TABLE refresh_tokens (
    hash       BYTEA NOT NULL PRIMARY KEY,
    session_id UUID NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    spent_at   TIMESTAMPTZ
);
CREATE INDEX refresh_tokens_of_session ON refresh_tokens (session_id, spent_at);
