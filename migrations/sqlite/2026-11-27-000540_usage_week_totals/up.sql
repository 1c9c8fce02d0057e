-- Totals of a week stand before its days: the list of who used most reads these alone of
-- all weeks but the first and the last of its range, which are in it in part.
CREATE TABLE usage_by_user_new (
    week    INTEGER NOT NULL,
    user_id BLOB NOT NULL,
    calls   INTEGER NOT NULL
        GENERATED ALWAYS AS (calls_0 + calls_1 + calls_2 + calls_3 + calls_4 + calls_5 + calls_6) STORED,
    spent   INTEGER NOT NULL
        GENERATED ALWAYS AS (spent_0 + spent_1 + spent_2 + spent_3 + spent_4 + spent_5 + spent_6) STORED,
    calls_0 INTEGER NOT NULL DEFAULT 0,
    spent_0 INTEGER NOT NULL DEFAULT 0,
    calls_1 INTEGER NOT NULL DEFAULT 0,
    spent_1 INTEGER NOT NULL DEFAULT 0,
    calls_2 INTEGER NOT NULL DEFAULT 0,
    spent_2 INTEGER NOT NULL DEFAULT 0,
    calls_3 INTEGER NOT NULL DEFAULT 0,
    spent_3 INTEGER NOT NULL DEFAULT 0,
    calls_4 INTEGER NOT NULL DEFAULT 0,
    spent_4 INTEGER NOT NULL DEFAULT 0,
    calls_5 INTEGER NOT NULL DEFAULT 0,
    spent_5 INTEGER NOT NULL DEFAULT 0,
    calls_6 INTEGER NOT NULL DEFAULT 0,
    spent_6 INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, week)
) STRICT, WITHOUT ROWID;

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
FROM usage_by_user ORDER BY user_id, week;

DROP TABLE usage_by_user;
ALTER TABLE usage_by_user_new RENAME TO usage_by_user;
