-- Sums of `ai_usage` of today and yesterday, written in the same transaction as its rows:
-- the overview charts today without reading each call. An hour is the number of hours
-- since 1970-01-01 UTC; deleted accounts share the nil id.
CREATE TABLE usage_by_hour (
    hour            INTEGER NOT NULL,
    user_id         UUID NOT NULL,
    calls           BIGINT NOT NULL,
    failed          BIGINT NOT NULL,
    spent_micros    BIGINT NOT NULL,
    duration_millis BIGINT NOT NULL,
    PRIMARY KEY (hour, user_id)
) WITH (fillfactor = 70);

-- Calls of earlier versions have no duration.
INSERT INTO usage_by_hour (hour, user_id, calls, failed, spent_micros, duration_millis)
SELECT
    FLOOR(EXTRACT(EPOCH FROM at) / 3600)::int, user_id,
    COUNT(*), COUNT(*) FILTER (WHERE outcome = 'failed'),
    SUM(spent_micros), COALESCE(SUM(duration_millis), 0)
FROM ai_usage
WHERE at >= (date_trunc('day', now() AT TIME ZONE 'UTC') - INTERVAL '1 day') AT TIME ZONE 'UTC'
GROUP BY 1, 2;
