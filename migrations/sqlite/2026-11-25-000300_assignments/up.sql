-- Assignments. due_at is set until they end; fence is the number of the last
-- claim by a worker, event_count that of the last event. Long columns come last.
CREATE TABLE assignments (
    id                   BLOB NOT NULL PRIMARY KEY,
    user_id              BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    skill_name           TEXT NOT NULL,
    mode                 TEXT NOT NULL,
    status               TEXT NOT NULL,
    step_count           INTEGER NOT NULL,
    tokens_spent         INTEGER NOT NULL,
    tokens_abandoned     INTEGER NOT NULL,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    started_at           INTEGER,
    completed_at         INTEGER,
    plaintext_dropped_at INTEGER,
    due_at               INTEGER,
    worker_id            BLOB,
    fence                INTEGER NOT NULL,
    failed_attempts      INTEGER NOT NULL,
    restarts             INTEGER NOT NULL,
    event_count          INTEGER NOT NULL,
    error_code           TEXT,
    error_message        BLOB,
    tools                TEXT,
    skill                TEXT NOT NULL,
    input                BLOB,
    outputs              BLOB,
    artifact_json        BLOB,
    artifact_text        BLOB
) STRICT;
CREATE INDEX assignments_due ON assignments (due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX assignments_running ON assignments (started_at) WHERE due_at IS NOT NULL;
CREATE INDEX assignments_unfinished ON assignments (user_id) WHERE due_at IS NOT NULL;
CREATE INDEX assignments_of_user ON assignments (user_id, created_at, id);
CREATE INDEX assignments_by_age ON assignments (created_at, id);
CREATE INDEX assignments_ended ON assignments (completed_at) WHERE completed_at IS NOT NULL;
CREATE INDEX assignments_with_contents ON assignments (completed_at)
    WHERE completed_at IS NOT NULL AND plaintext_dropped_at IS NULL;

-- Events. Messages of the server are in message, those of others are sealed.
CREATE TABLE assignment_events (
    id             BLOB NOT NULL PRIMARY KEY,
    assignment_id  BLOB NOT NULL REFERENCES assignments (id) ON DELETE CASCADE,
    ordinal        INTEGER NOT NULL,
    key            TEXT NOT NULL,
    kind           TEXT NOT NULL,
    message        TEXT,
    sealed_message BLOB,
    detail         TEXT,
    created_at     INTEGER NOT NULL,
    UNIQUE (assignment_id, key)
) STRICT;

-- Processes that work on assignments.
CREATE TABLE assignment_workers (
    id          BLOB NOT NULL PRIMARY KEY,
    host        TEXT NOT NULL,
    started_at  INTEGER NOT NULL,
    alive_until INTEGER NOT NULL
) STRICT;

-- Skills that may be granted, and the groups that they are granted to.
CREATE TABLE operators (
    id                BLOB NOT NULL PRIMARY KEY,
    name              TEXT NOT NULL,
    skill             TEXT NOT NULL,
    skill_name_folded TEXT NOT NULL UNIQUE,
    is_custom         INTEGER NOT NULL,
    is_active         INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL
) STRICT;
CREATE TABLE operator_groups (
    operator_id BLOB NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    group_id    BLOB NOT NULL REFERENCES user_groups (id) ON DELETE CASCADE,
    PRIMARY KEY (operator_id, group_id)
) STRICT;
CREATE INDEX operator_groups_of_group ON operator_groups (group_id);
