-- Whom an identity provider knows an account's owner as.
CREATE TABLE provider_identities (
    provider   TEXT NOT NULL,
    issuer     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    user_id    BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (provider, issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX provider_identities_of_user ON provider_identities (user_id);

-- Sign-ins that are at a provider. Of the state and the browser's cookie only
-- hashes are kept; the rest is sealed.
CREATE TABLE provider_flows (
    hash       BLOB NOT NULL PRIMARY KEY,
    browser    BLOB NOT NULL,
    sealed     BLOB NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX provider_flows_expiry ON provider_flows (expires_at);

-- One-time codes. One that was redeemed stays until it ends, and with it which
-- session it gave: redeemed again, it takes that back.
CREATE TABLE sign_in_codes (
    hash        BLOB NOT NULL PRIMARY KEY,
    user_id     BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    challenge   BLOB NOT NULL,
    expires_at  INTEGER NOT NULL,
    burned_at   INTEGER,
    session_id  BLOB
) STRICT, WITHOUT ROWID;
CREATE INDEX sign_in_codes_of_user ON sign_in_codes (user_id);
CREATE INDEX sign_in_codes_expiry ON sign_in_codes (expires_at);
