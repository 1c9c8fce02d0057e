-- Schedules. next_at is set while they are active; last_skip is why the last time
-- handed nothing over.
CREATE TABLE assignment_schedules (
    id                 UUID NOT NULL PRIMARY KEY,
    user_id            UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    skill_name         TEXT NOT NULL,
    cron               TEXT COLLATE "C" NOT NULL,
    time_zone          TEXT COLLATE "C" NOT NULL,
    catch_up           TEXT COLLATE "C" NOT NULL,
    next_at            TIMESTAMPTZ,
    last_due_at        TIMESTAMPTZ,
    last_assignment_id UUID,
    last_skip          TEXT COLLATE "C",
    created_at         TIMESTAMPTZ NOT NULL,
    updated_at         TIMESTAMPTZ NOT NULL,
    input              BYTEA NOT NULL
);
CREATE INDEX assignment_schedules_of_user ON assignment_schedules (user_id, created_at);
CREATE INDEX assignment_schedules_due ON assignment_schedules (next_at) WHERE next_at IS NOT NULL;
CREATE POLICY own_rows ON assignment_schedules
    USING (user_id = NULLIF(current_setting('pia.user_id', true), '')::uuid);
