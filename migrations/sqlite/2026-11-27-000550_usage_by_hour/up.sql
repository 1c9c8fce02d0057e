-- Sums of `ai_usage` of today and yesterday, written in the same transaction as its rows:
-- the overview charts today without reading each call. An hour is the number of hours
-- since 1970-01-01 UTC; deleted accounts share the nil id.
CREATE TABLE usage_by_hour (
    hour            INTEGER NOT NULL,
    user_id         BLOB NOT NULL,
    calls           INTEGER NOT NULL,
    failed          INTEGER NOT NULL,
    spent_micros    INTEGER NOT NULL,
    duration_millis INTEGER NOT NULL,
    PRIMARY KEY (hour, user_id)
) STRICT, WITHOUT ROWID;

-- Calls of earlier versions have no duration.
INSERT INTO usage_by_hour (hour, user_id, calls, failed, spent_micros, duration_millis)
SELECT
    at / 3600000000, user_id, COUNT(*), SUM(outcome = 'failed'),
    SUM(spent_micros), COALESCE(SUM(duration_millis), 0)
FROM ai_usage WHERE at >= (unixepoch() / 86400 - 1) * 86400000000 GROUP BY 1, 2;
