-- What was spent, and may be, hour by hour, day by day and week by week: of a
-- person, of a person's key, or of a group.
CREATE TABLE credit_windows (
    key       TEXT NOT NULL PRIMARY KEY,
    kind      TEXT NOT NULL,
    owner_id  BLOB NOT NULL,
    user_id   BLOB REFERENCES accounts (id) ON DELETE CASCADE,
    group_id  BLOB REFERENCES user_groups (id) ON DELETE CASCADE,
    week      INTEGER,
    total     INTEGER NOT NULL DEFAULT 0,
    used      INTEGER NOT NULL DEFAULT 0,
    reserved  INTEGER NOT NULL DEFAULT 0,
    last_used INTEGER NOT NULL DEFAULT 0,
    buckets   TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX credit_windows_of_user ON credit_windows (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX credit_windows_of_group ON credit_windows (group_id) WHERE group_id IS NOT NULL;

-- What open calls may spend, one row a window. Nothing refers to windows: the
-- rows go with their call, or with the instance that made it.
CREATE TABLE credit_reservations (
    id          BLOB NOT NULL,
    window_key  TEXT NOT NULL,
    instance_id BLOB NOT NULL,
    amount      INTEGER NOT NULL,
    opened_at   INTEGER NOT NULL,
    PRIMARY KEY (id, window_key)
) STRICT;
CREATE INDEX credit_reservations_of_instance ON credit_reservations (instance_id);
CREATE INDEX credit_reservations_of_window ON credit_reservations (window_key);

CREATE TABLE credit_instances (
    id          BLOB NOT NULL PRIMARY KEY,
    alive_until INTEGER NOT NULL
) STRICT;

-- Each call keeps the rates that it was priced by, in thousandths of a credit
-- for a million tokens. What was written before cost nothing.
ALTER TABLE ai_usage ADD COLUMN group_id BLOB;
ALTER TABLE ai_usage ADD COLUMN api_key_id BLOB;
ALTER TABLE ai_usage ADD COLUMN entry_id TEXT;
ALTER TABLE ai_usage ADD COLUMN connector_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ai_usage ADD COLUMN input_rate INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ai_usage ADD COLUMN output_rate INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ai_usage ADD COLUMN cached_input_rate INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ai_usage ADD COLUMN connector_rate INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ai_usage ADD COLUMN spent_micros INTEGER NOT NULL DEFAULT 0;
