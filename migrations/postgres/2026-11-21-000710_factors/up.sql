-- The secret is sealed. A factor that was begun and not confirmed has no
-- `enabled_at`; codes of `last_step` and before are good no more.
CREATE TABLE totp_factors (
    user_id    UUID NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    secret     BYTEA NOT NULL,
    begun_at   TIMESTAMPTZ NOT NULL,
    enabled_at TIMESTAMPTZ,
    last_step  BIGINT NOT NULL
);

-- Of a code only its hash is kept, and that until it is used.
CREATE TABLE recovery_codes (
    user_id UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    hash    BYTEA NOT NULL,
    PRIMARY KEY (user_id, hash)
);

-- Sign-ins that wait for their second factor. Of a token only its hash is kept.
CREATE TABLE factor_challenges (
    hash       BYTEA NOT NULL PRIMARY KEY,
    user_id    UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    expires_at TIMESTAMPTZ NOT NULL,
    tries      INTEGER NOT NULL
);
CREATE INDEX factor_challenges_of_user ON factor_challenges (user_id);
CREATE INDEX factor_challenges_expiry ON factor_challenges (expires_at);
