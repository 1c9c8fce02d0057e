-- Durations of calls in milliseconds, and their sums with the number of these calls: those
-- of earlier versions have none.
ALTER TABLE ai_usage ADD COLUMN duration_millis BIGINT;
ALTER TABLE usage_by_group ADD COLUMN timed_calls BIGINT NOT NULL DEFAULT 0;
ALTER TABLE usage_by_group ADD COLUMN duration_millis BIGINT NOT NULL DEFAULT 0;
