-- Chats as their owners' devices wrote them. A row without a body is what is
-- left of a deleted one; its id stays for ever, and `updated_at` is when it
-- was deleted, so that it stands behind what was listed before.
CREATE TABLE chats (
    user_id     BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    id          BLOB NOT NULL,
    stamp       INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    accessed_at INTEGER,
    deleted_at  INTEGER,
    encrypted   INTEGER NOT NULL,
    size        INTEGER NOT NULL,
    body        BLOB,
    PRIMARY KEY (user_id, id)
) STRICT;
-- All that it takes to find a page, so that no row is read for it: rows are
-- long.
CREATE INDEX chats_in_order ON chats (user_id, updated_at, id, stamp, deleted_at, size);
CREATE INDEX chats_by_stamp ON chats (user_id, stamp);
