-- Keys that scripts call with in the place of a person, kept as hashes. The
-- scopes are names with spaces between them; 0 credits a week is no limit.
CREATE TABLE api_keys (
    id             UUID NOT NULL PRIMARY KEY,
    user_id        UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name           TEXT NOT NULL,
    hash           BYTEA NOT NULL UNIQUE,
    scopes         TEXT COLLATE "C" NOT NULL,
    weekly_credits BIGINT NOT NULL CHECK (weekly_credits >= 0),
    created_at     TIMESTAMPTZ NOT NULL,
    expires_at     TIMESTAMPTZ,
    used_at        TIMESTAMPTZ
);
CREATE INDEX api_keys_of_user ON api_keys (user_id, created_at);
