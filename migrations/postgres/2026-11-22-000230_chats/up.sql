-- Chats as their owners' devices wrote them. A row without a body is what is
-- left of a deleted one; its id stays for ever, and `updated_at` is when it
-- was deleted, so that it stands behind what was listed before.
CREATE TABLE chats (
    user_id     UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    id          UUID NOT NULL,
    stamp       TIMESTAMPTZ NOT NULL,
    created_at  TIMESTAMPTZ NOT NULL,
    updated_at  TIMESTAMPTZ NOT NULL,
    accessed_at TIMESTAMPTZ,
    deleted_at  TIMESTAMPTZ,
    encrypted   BOOLEAN NOT NULL,
    size        INTEGER NOT NULL,
    body        BYTEA,
    PRIMARY KEY (user_id, id)
);
-- All that it takes to find a page, so that no row is read for it: rows are
-- long.
CREATE INDEX chats_in_order ON chats (user_id, updated_at, id, stamp, deleted_at, size);
CREATE INDEX chats_by_stamp ON chats (user_id, stamp);
-- What is sealed does not get shorter by compression, which costs time.
ALTER TABLE chats ALTER COLUMN body SET STORAGE EXTERNAL;
