-- What all of a person's devices share. Whoever writes to what is theirs locks
-- this row first, so that their stamps are given in the order of the commits.
-- The highest stamp outlives a reset and only grows.
CREATE TABLE ledgers (
    user_id      UUID NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    epoch        BYTEA NOT NULL,
    version      BIGINT NOT NULL,
    last_stamp   TIMESTAMPTZ NOT NULL,
    encrypted_at TIMESTAMPTZ,
    umk_version  INTEGER NOT NULL,
    reset_at     TIMESTAMPTZ
);

-- What devices keep in step, of every channel. A row without a body is what is
-- left of a deleted one.
CREATE TABLE sync_items (
    user_id    UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    channel    SMALLINT NOT NULL,
    id         UUID NOT NULL,
    stamp      TIMESTAMPTZ NOT NULL,
    changed_at TIMESTAMPTZ NOT NULL,
    deleted_at TIMESTAMPTZ,
    encrypted  BOOLEAN NOT NULL,
    device_id  TEXT,
    size       INTEGER NOT NULL,
    digest     BYTEA NOT NULL,
    body       BYTEA,
    PRIMARY KEY (user_id, channel, id)
);
CREATE INDEX sync_items_by_stamp ON sync_items (user_id, stamp, size);

-- What was done to all that, for whoever helps its owner.
CREATE TABLE sync_events (
    id        UUID NOT NULL PRIMARY KEY,
    user_id   UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    at        TIMESTAMPTZ NOT NULL,
    kind      TEXT COLLATE "C" NOT NULL,
    device_id TEXT,
    stored    INTEGER NOT NULL,
    deleted   INTEGER NOT NULL,
    conflicts INTEGER NOT NULL,
    refused   INTEGER NOT NULL
);
CREATE INDEX sync_events_of_user ON sync_events (user_id, at);
CREATE INDEX sync_events_by_age ON sync_events (at);
