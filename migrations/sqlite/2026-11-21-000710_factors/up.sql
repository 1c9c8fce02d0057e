-- The secret is sealed. A factor that was begun and not confirmed has no
-- `enabled_at`; codes of `last_step` and before are good no more.
CREATE TABLE totp_factors (
    user_id    BLOB NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    secret     BLOB NOT NULL,
    begun_at   INTEGER NOT NULL,
    enabled_at INTEGER,
    last_step  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Of a code only its hash is kept, and that until it is used.
CREATE TABLE recovery_codes (
    user_id BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    hash    BLOB NOT NULL,
    PRIMARY KEY (user_id, hash)
) STRICT, WITHOUT ROWID;

-- Sign-ins that wait for their second factor. Of a token only its hash is kept.
CREATE TABLE factor_challenges (
    hash       BLOB NOT NULL PRIMARY KEY,
    user_id    BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    expires_at INTEGER NOT NULL,
    tries      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX factor_challenges_of_user ON factor_challenges (user_id);
CREATE INDEX factor_challenges_expiry ON factor_challenges (expires_at);
