-- What devices say of themselves; nothing is decided by it. Sessions that are
-- there began with a password, and so do those of the version before.
ALTER TABLE sessions
    ADD COLUMN method         TEXT COLLATE "C" NOT NULL DEFAULT 'password',
    ADD COLUMN device_id      TEXT COLLATE "C",
    ADD COLUMN app_version    TEXT COLLATE "C",
    ADD COLUMN os_version     TEXT COLLATE "C",
    ADD COLUMN user_agent     TEXT COLLATE "C",
    ADD COLUMN signed_in_from TEXT COLLATE "C",
    ADD COLUMN used_from      TEXT COLLATE "C";

-- The reference is looked at when a transaction ends: one that remembers an
-- attempt at nobody's account has taken it back by then. A session may be gone
-- before the sign-in that it began with is forgotten.
CREATE TABLE sign_ins (
    id          UUID NOT NULL PRIMARY KEY,
    at          TIMESTAMPTZ NOT NULL,
    user_id     UUID NOT NULL
                REFERENCES accounts (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    outcome     TEXT COLLATE "C" NOT NULL,
    method      TEXT COLLATE "C" NOT NULL,
    address     TEXT COLLATE "C",
    device_id   TEXT COLLATE "C",
    app_version TEXT COLLATE "C",
    os_version  TEXT COLLATE "C",
    user_agent  TEXT COLLATE "C",
    session_id  UUID
);
CREATE INDEX sign_ins_of_user ON sign_ins (user_id, at, id);
CREATE INDEX sign_ins_by_time ON sign_ins (at);
