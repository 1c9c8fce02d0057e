-- The bytes of all that is stored for a person. Whoever stores or removes some
-- of it adds or subtracts it here, in the same transaction.
ALTER TABLE ledgers ADD COLUMN stored_bytes BIGINT NOT NULL DEFAULT 0;
UPDATE ledgers SET stored_bytes =
    (SELECT COALESCE(SUM(size), 0) FROM sync_items WHERE sync_items.user_id = ledgers.user_id)
    + (SELECT COALESCE(SUM(size), 0) FROM chats WHERE chats.user_id = ledgers.user_id);

-- The bytes that each member of the group may store; the server's setting where
-- there is none.
ALTER TABLE group_settings ADD COLUMN user_storage_bytes BIGINT;
