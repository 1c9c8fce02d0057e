-- Letters that wait to be sent. What they say, and to whom they go, is sealed;
-- a letter that was sent is gone, and of one that cannot be sent only why.
CREATE TABLE mails (
    id            UUID NOT NULL PRIMARY KEY,
    user_id       UUID REFERENCES accounts (id) ON DELETE CASCADE,
    letter        TEXT NOT NULL,
    sealed        BYTEA,
    queued_at     TIMESTAMPTZ NOT NULL,
    due_at        TIMESTAMPTZ NOT NULL,
    tries         INTEGER NOT NULL,
    claimed_until TIMESTAMPTZ,
    failed_at     TIMESTAMPTZ,
    failure       TEXT
);
CREATE INDEX mails_due ON mails (due_at) WHERE failed_at IS NULL;
CREATE INDEX mails_of_user ON mails (user_id);
