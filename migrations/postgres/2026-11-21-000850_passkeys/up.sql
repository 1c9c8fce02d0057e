-- `credential` is what signatures are checked with, as JSON. `counter` is
-- beside it, since it is compared and set at each sign-in.
CREATE TABLE passkeys (
    id            UUID NOT NULL PRIMARY KEY,
    user_id       UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    credential_id BYTEA NOT NULL UNIQUE,
    name          TEXT NOT NULL,
    credential    TEXT NOT NULL,
    counter       BIGINT NOT NULL,
    created_at    TIMESTAMPTZ NOT NULL,
    used_at       TIMESTAMPTZ
);
CREATE INDEX passkeys_of_user ON passkeys (user_id, created_at);

-- What an authenticator is asked to sign, until it has. A sign-in belongs to
-- nobody yet.
CREATE TABLE passkey_challenges (
    hash       BYTEA NOT NULL PRIMARY KEY,
    user_id    UUID REFERENCES accounts (id) ON DELETE CASCADE,
    state      TEXT NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX passkey_challenges_of_user ON passkey_challenges (user_id);
CREATE INDEX passkey_challenges_expiry ON passkey_challenges (expires_at);
