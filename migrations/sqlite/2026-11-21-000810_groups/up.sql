-- Each person is in one group, at first in the default one.
CREATE TABLE user_groups (
    id         BLOB NOT NULL PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    is_default INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX user_groups_default ON user_groups (is_default) WHERE is_default = 1;
INSERT INTO user_groups (id, name, is_default, created_at)
    VALUES (X'00000000000070008000000000000001', 'Default', 1, CAST(unixepoch('subsec') * 1000000 AS INTEGER));

ALTER TABLE accounts ADD COLUMN role TEXT NOT NULL DEFAULT 'user';
ALTER TABLE accounts ADD COLUMN group_id BLOB NOT NULL
    DEFAULT X'00000000000070008000000000000001' REFERENCES user_groups (id);
ALTER TABLE accounts ADD COLUMN email_verified_at INTEGER;
CREATE INDEX accounts_of_group ON accounts (group_id);
CREATE INDEX accounts_by_role ON accounts (role) WHERE role <> 'user';
