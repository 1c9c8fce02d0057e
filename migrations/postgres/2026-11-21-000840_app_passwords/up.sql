-- Of a password only its hash is kept; it is random enough for a quick one.
CREATE TABLE app_passwords (
    id         UUID NOT NULL PRIMARY KEY,
    user_id    UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    hash       BYTEA NOT NULL UNIQUE,
    created_at TIMESTAMPTZ NOT NULL,
    used_at    TIMESTAMPTZ
);
CREATE INDEX app_passwords_of_user ON app_passwords (user_id, created_at);

-- A session that began with one ends with it.
ALTER TABLE sessions ADD COLUMN app_password_id UUID REFERENCES app_passwords (id) ON DELETE CASCADE;
CREATE INDEX sessions_of_app_password ON sessions (app_password_id);
