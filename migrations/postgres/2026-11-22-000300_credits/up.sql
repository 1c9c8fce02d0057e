-- What was spent, and may be, hour by hour, day by day and week by week: of a
-- person, of a person's key, or of a group. Rows are changed with every call,
-- so their pages have room for the next version.
CREATE TABLE credit_windows (
    key       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    kind      TEXT COLLATE "C" NOT NULL,
    owner_id  UUID NOT NULL,
    user_id   UUID REFERENCES accounts (id) ON DELETE CASCADE,
    group_id  UUID REFERENCES user_groups (id) ON DELETE CASCADE,
    week      TIMESTAMPTZ,
    total     BIGINT NOT NULL DEFAULT 0,
    used      BIGINT NOT NULL DEFAULT 0,
    reserved  BIGINT NOT NULL DEFAULT 0,
    last_used BIGINT NOT NULL DEFAULT 0,
    buckets   TEXT COLLATE "C" NOT NULL DEFAULT ''
) WITH (fillfactor = 50);
CREATE INDEX credit_windows_of_user ON credit_windows (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX credit_windows_of_group ON credit_windows (group_id) WHERE group_id IS NOT NULL;

-- What open calls may spend, one row a window. Nothing refers to windows: the
-- rows go with their call, or with the instance that made it.
CREATE TABLE credit_reservations (
    id          UUID NOT NULL,
    window_key  TEXT COLLATE "C" NOT NULL,
    instance_id UUID NOT NULL,
    amount      BIGINT NOT NULL,
    opened_at   TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (id, window_key)
);
CREATE INDEX credit_reservations_of_instance ON credit_reservations (instance_id);
CREATE INDEX credit_reservations_of_window ON credit_reservations (window_key);

CREATE TABLE credit_instances (
    id          UUID NOT NULL PRIMARY KEY,
    alive_until TIMESTAMPTZ NOT NULL
);

-- Each call keeps the rates that it was priced by, in thousandths of a credit
-- for a million tokens. What was written before cost nothing.
ALTER TABLE ai_usage ADD COLUMN group_id UUID;
ALTER TABLE ai_usage ADD COLUMN api_key_id UUID;
ALTER TABLE ai_usage ADD COLUMN entry_id TEXT COLLATE "C";
ALTER TABLE ai_usage ADD COLUMN connector_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ai_usage ADD COLUMN input_rate BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ai_usage ADD COLUMN output_rate BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ai_usage ADD COLUMN cached_input_rate BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ai_usage ADD COLUMN connector_rate BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ai_usage ADD COLUMN spent_micros BIGINT NOT NULL DEFAULT 0;
