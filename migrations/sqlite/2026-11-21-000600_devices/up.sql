-- What devices say of themselves; nothing is decided by it. Sessions that are
-- there began with a password, and so do those of the version before.
ALTER TABLE sessions ADD COLUMN method TEXT NOT NULL DEFAULT 'password';
ALTER TABLE sessions ADD COLUMN device_id TEXT;
ALTER TABLE sessions ADD COLUMN app_version TEXT;
ALTER TABLE sessions ADD COLUMN os_version TEXT;
ALTER TABLE sessions ADD COLUMN user_agent TEXT;
ALTER TABLE sessions ADD COLUMN signed_in_from TEXT;
ALTER TABLE sessions ADD COLUMN used_from TEXT;

-- The reference is looked at when a transaction ends: one that remembers an
-- attempt at nobody's account has taken it back by then. A session may be gone
-- before the sign-in that it began with is forgotten.
CREATE TABLE sign_ins (
    id          BLOB NOT NULL PRIMARY KEY,
    at          INTEGER NOT NULL,
    user_id     BLOB NOT NULL
                REFERENCES accounts (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    outcome     TEXT NOT NULL,
    method      TEXT NOT NULL,
    address     TEXT,
    device_id   TEXT,
    app_version TEXT,
    os_version  TEXT,
    user_agent  TEXT,
    session_id  BLOB
) STRICT;
CREATE INDEX sign_ins_of_user ON sign_ins (user_id, at, id);
CREATE INDEX sign_ins_by_time ON sign_ins (at);
