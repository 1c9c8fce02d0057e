-- Keys that scripts call with in the place of a person, kept as hashes. The
-- scopes are names with spaces between them; 0 credits a week is no limit.
CREATE TABLE api_keys (
    id             BLOB NOT NULL PRIMARY KEY,
    user_id        BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name           TEXT NOT NULL,
    hash           BLOB NOT NULL UNIQUE,
    scopes         TEXT NOT NULL,
    weekly_credits INTEGER NOT NULL CHECK (weekly_credits >= 0),
    created_at     INTEGER NOT NULL,
    expires_at     INTEGER,
    used_at        INTEGER
) STRICT;
CREATE INDEX api_keys_of_user ON api_keys (user_id, created_at);
