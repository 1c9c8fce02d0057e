-- Claims read the index `assignments_due` in its order. These two have another condition,
-- so that PostgreSQL does not choose one of them for a claim and sort all that wait.
DROP INDEX assignments_running;
DROP INDEX assignments_unfinished;
CREATE INDEX assignments_running ON assignments (started_at) WHERE completed_at IS NULL;
CREATE INDEX assignments_unfinished ON assignments (user_id) WHERE completed_at IS NULL;
