-- What all of a person's devices share. Whoever writes to what is theirs locks
-- this row first, so that their stamps are given in the order of the commits.
-- The highest stamp outlives a reset and only grows.
CREATE TABLE ledgers (
    user_id      BLOB NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    epoch        BLOB NOT NULL,
    version      INTEGER NOT NULL,
    last_stamp   INTEGER NOT NULL,
    encrypted_at INTEGER,
    umk_version  INTEGER NOT NULL,
    reset_at     INTEGER
) STRICT, WITHOUT ROWID;

-- What devices keep in step, of every channel. A row without a body is what is
-- left of a deleted one.
CREATE TABLE sync_items (
    user_id    BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    channel    INTEGER NOT NULL,
    id         BLOB NOT NULL,
    stamp      INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    deleted_at INTEGER,
    encrypted  INTEGER NOT NULL,
    device_id  TEXT,
    size       INTEGER NOT NULL,
    digest     BLOB NOT NULL,
    body       BLOB,
    PRIMARY KEY (user_id, channel, id)
) STRICT;
CREATE INDEX sync_items_by_stamp ON sync_items (user_id, stamp, size);

-- What was done to all that, for whoever helps its owner.
CREATE TABLE sync_events (
    id        BLOB NOT NULL PRIMARY KEY,
    user_id   BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    at        INTEGER NOT NULL,
    kind      TEXT NOT NULL,
    device_id TEXT,
    stored    INTEGER NOT NULL,
    deleted   INTEGER NOT NULL,
    conflicts INTEGER NOT NULL,
    refused   INTEGER NOT NULL
) STRICT;
CREATE INDEX sync_events_of_user ON sync_events (user_id, at);
CREATE INDEX sync_events_by_age ON sync_events (at);
