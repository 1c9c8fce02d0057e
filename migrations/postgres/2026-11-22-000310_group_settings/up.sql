-- Two groups whose names differ in case alone are hard to tell apart. The
-- server folds the names; so far there is one group, and its name is ASCII.
ALTER TABLE user_groups ADD COLUMN name_folded TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE user_groups SET name_folded = lower(name);
ALTER TABLE user_groups ALTER COLUMN name_folded DROP DEFAULT;
CREATE UNIQUE INDEX user_groups_name_folded ON user_groups (name_folded);

-- What a group says of its members. A quota that is not set is the default; a
-- budget of 0 is none. The maps and the list are JSON.
CREATE TABLE group_settings (
    group_id                 UUID NOT NULL PRIMARY KEY REFERENCES user_groups (id) ON DELETE CASCADE,
    knowledge_bases          BIGINT CHECK (knowledge_bases >= 0),
    knowledge_documents      BIGINT CHECK (knowledge_documents >= 0),
    knowledge_storage_bytes  BIGINT CHECK (knowledge_storage_bytes >= 0),
    monthly_embedding_tokens BIGINT CHECK (monthly_embedding_tokens >= 0),
    managed_personas         BIGINT CHECK (managed_personas >= 0),
    credits_hourly           BIGINT NOT NULL CHECK (credits_hourly >= 0),
    credits_daily            BIGINT NOT NULL CHECK (credits_daily >= 0),
    credits_weekly           BIGINT NOT NULL CHECK (credits_weekly >= 0),
    credits_group_daily      BIGINT NOT NULL CHECK (credits_group_daily >= 0),
    credits_group_weekly     BIGINT NOT NULL CHECK (credits_group_weekly >= 0),
    credits_pool             BOOLEAN NOT NULL,
    mode_entries             TEXT NOT NULL,
    persona_entries          TEXT NOT NULL,
    models                   TEXT NOT NULL
);
