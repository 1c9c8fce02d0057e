-- Totals of a week stand before its days: the list of who used most reads these alone of
-- all weeks but the first and the last of its range, which are in it in part.
CREATE TABLE usage_by_user_new (
    week    INTEGER NOT NULL,
    user_id UUID NOT NULL,
    calls   BIGINT NOT NULL
        GENERATED ALWAYS AS (calls_0 + calls_1 + calls_2 + calls_3 + calls_4 + calls_5 + calls_6) STORED,
    spent   BIGINT NOT NULL
        GENERATED ALWAYS AS (spent_0 + spent_1 + spent_2 + spent_3 + spent_4 + spent_5 + spent_6) STORED,
    calls_0 BIGINT NOT NULL DEFAULT 0,
    spent_0 BIGINT NOT NULL DEFAULT 0,
    calls_1 BIGINT NOT NULL DEFAULT 0,
    spent_1 BIGINT NOT NULL DEFAULT 0,
    calls_2 BIGINT NOT NULL DEFAULT 0,
    spent_2 BIGINT NOT NULL DEFAULT 0,
    calls_3 BIGINT NOT NULL DEFAULT 0,
    spent_3 BIGINT NOT NULL DEFAULT 0,
    calls_4 BIGINT NOT NULL DEFAULT 0,
    spent_4 BIGINT NOT NULL DEFAULT 0,
    calls_5 BIGINT NOT NULL DEFAULT 0,
    spent_5 BIGINT NOT NULL DEFAULT 0,
    calls_6 BIGINT NOT NULL DEFAULT 0,
    spent_6 BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (week, user_id)
) WITH (fillfactor = 70);

INSERT INTO usage_by_user_new (
    week, user_id,
    calls_0, spent_0,
    calls_1, spent_1,
    calls_2, spent_2,
    calls_3, spent_3,
    calls_4, spent_4,
    calls_5, spent_5,
    calls_6, spent_6)
SELECT
    week, user_id,
    calls_0, spent_0,
    calls_1, spent_1,
    calls_2, spent_2,
    calls_3, spent_3,
    calls_4, spent_4,
    calls_5, spent_5,
    calls_6, spent_6
FROM usage_by_user ORDER BY week, user_id;

DROP TABLE usage_by_user;
ALTER TABLE usage_by_user_new RENAME TO usage_by_user;
ALTER INDEX usage_by_user_new_pkey RENAME TO usage_by_user_pkey;
CREATE INDEX usage_by_user_of_user ON usage_by_user (user_id);
