-- People's devices that hold keys, or ask for them. What devices sign or
-- authenticate is kept as the very text they sent. `status` is 0 for one that
-- waits, 1 for one that has its wrapped key, 2 for one that was turned away.
CREATE TABLE devices (
    id                    BLOB NOT NULL PRIMARY KEY,
    user_id               BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    device_id             TEXT NOT NULL,
    name                  TEXT NOT NULL,
    status                INTEGER NOT NULL,
    agreement_key         TEXT NOT NULL,
    signing_key           TEXT NOT NULL,
    os_version            TEXT,
    app_version           TEXT,
    created_at            INTEGER NOT NULL,
    activated_at          INTEGER,
    revoked_at            INTEGER,
    seen_at               INTEGER NOT NULL,
    onboarding            TEXT,
    onboarding_ends_at    INTEGER,
    key_ciphertext        TEXT,
    key_salt              TEXT,
    key_created_by        TEXT,
    key_created_at        INTEGER,
    key_signature         TEXT,
    key_signature_version INTEGER,
    key_onboarding        TEXT,
    UNIQUE (user_id, device_id)
) STRICT;
CREATE INDEX devices_by_age ON devices (user_id, created_at);

-- The copy of a person's key that their recovery code opens, and what whoever
-- opened it can prove that with.
CREATE TABLE recovery_keys (
    user_id         BLOB NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    ciphertext      TEXT NOT NULL,
    kdf_salt        TEXT NOT NULL,
    kdf_memory_kib  INTEGER NOT NULL,
    kdf_time        INTEGER NOT NULL,
    kdf_parallelism INTEGER NOT NULL,
    umk_version     INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    proof_key       BLOB
) STRICT;
