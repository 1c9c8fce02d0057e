-- Sums of `ai_usage`, written in the same transaction as its rows: administrators see
-- what was used without reading each call. A day is the number of days since
-- 1970-01-01 UTC; calls without a group are those of the nil id.
CREATE TABLE usage_by_group (
    day                 INTEGER NOT NULL,
    group_id            BLOB NOT NULL,
    provider            TEXT NOT NULL,
    model               TEXT NOT NULL,
    calls               INTEGER NOT NULL,
    failed              INTEGER NOT NULL,
    input_tokens        INTEGER NOT NULL,
    cached_input_tokens INTEGER NOT NULL,
    output_tokens       INTEGER NOT NULL,
    spent_micros        INTEGER NOT NULL,
    PRIMARY KEY (day, group_id, provider, model)
) STRICT, WITHOUT ROWID;

-- Weeks of seven days: week 0 began on 1970-01-01, and calls_0 and spent_0 are those of
-- its first day. The list of who used most reads a fifth of the rows that one for
-- each day would take.
CREATE TABLE usage_by_user (
    week    INTEGER NOT NULL,
    user_id BLOB NOT NULL,
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
    PRIMARY KEY (week, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_by_user_of_user ON usage_by_user (user_id);

INSERT INTO usage_by_group (
    day, group_id, provider, model, calls, failed,
    input_tokens, cached_input_tokens, output_tokens, spent_micros)
SELECT
    at / 86400000000, COALESCE(group_id, zeroblob(16)), provider, model,
    COUNT(*), SUM(outcome = 'failed'),
    SUM(input_tokens), SUM(cached_input_tokens), SUM(output_tokens), SUM(spent_micros)
FROM ai_usage GROUP BY 1, 2, 3, 4;

INSERT INTO usage_by_user (
    week, user_id,
    calls_0, spent_0,
    calls_1, spent_1,
    calls_2, spent_2,
    calls_3, spent_3,
    calls_4, spent_4,
    calls_5, spent_5,
    calls_6, spent_6)
SELECT
    day / 7, user_id,
    SUM(CASE WHEN day % 7 = 0 THEN 1 ELSE 0 END),
    SUM(CASE WHEN day % 7 = 0 THEN spent_micros ELSE 0 END),
    SUM(CASE WHEN day % 7 = 1 THEN 1 ELSE 0 END),
    SUM(CASE WHEN day % 7 = 1 THEN spent_micros ELSE 0 END),
    SUM(CASE WHEN day % 7 = 2 THEN 1 ELSE 0 END),
    SUM(CASE WHEN day % 7 = 2 THEN spent_micros ELSE 0 END),
    SUM(CASE WHEN day % 7 = 3 THEN 1 ELSE 0 END),
    SUM(CASE WHEN day % 7 = 3 THEN spent_micros ELSE 0 END),
    SUM(CASE WHEN day % 7 = 4 THEN 1 ELSE 0 END),
    SUM(CASE WHEN day % 7 = 4 THEN spent_micros ELSE 0 END),
    SUM(CASE WHEN day % 7 = 5 THEN 1 ELSE 0 END),
    SUM(CASE WHEN day % 7 = 5 THEN spent_micros ELSE 0 END),
    SUM(CASE WHEN day % 7 = 6 THEN 1 ELSE 0 END),
    SUM(CASE WHEN day % 7 = 6 THEN spent_micros ELSE 0 END)
FROM (SELECT at / 86400000000 AS day, user_id, spent_micros FROM ai_usage)
GROUP BY 1, 2;
