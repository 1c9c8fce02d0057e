-- Each person is in one group, at first in the default one.
CREATE TABLE user_groups (
    id         UUID NOT NULL PRIMARY KEY,
    name       TEXT COLLATE "C" NOT NULL UNIQUE,
    is_default BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL
);
CREATE UNIQUE INDEX user_groups_default ON user_groups (is_default) WHERE is_default;
INSERT INTO user_groups (id, name, is_default, created_at) VALUES ('00000000-0000-7000-8000-000000000001', 'Default', TRUE, now());

ALTER TABLE accounts ADD COLUMN role TEXT COLLATE "C" NOT NULL DEFAULT 'user';
ALTER TABLE accounts ADD COLUMN group_id UUID NOT NULL
    DEFAULT '00000000-0000-7000-8000-000000000001' REFERENCES user_groups (id);
ALTER TABLE accounts ADD COLUMN email_verified_at TIMESTAMPTZ;
CREATE INDEX accounts_of_group ON accounts (group_id);
CREATE INDEX accounts_by_role ON accounts (role) WHERE role <> 'user';
