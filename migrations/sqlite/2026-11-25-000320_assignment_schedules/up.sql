-- Schedules. next_at is set while they are active; last_skip is why the last time
-- handed nothing over.
CREATE TABLE assignment_schedules (
    id                 BLOB NOT NULL PRIMARY KEY,
    user_id            BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    skill_name         TEXT NOT NULL,
    cron               TEXT NOT NULL,
    time_zone          TEXT NOT NULL,
    catch_up           TEXT NOT NULL,
    next_at            INTEGER,
    last_due_at        INTEGER,
    last_assignment_id BLOB,
    last_skip          TEXT,
    created_at         INTEGER NOT NULL,
    updated_at         INTEGER NOT NULL,
    input              BLOB NOT NULL
);
CREATE INDEX assignment_schedules_of_user ON assignment_schedules (user_id, created_at);
CREATE INDEX assignment_schedules_due ON assignment_schedules (next_at) WHERE next_at IS NOT NULL;
