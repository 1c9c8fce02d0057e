-- Assignments. due_at is set until they end; fence is the number of the last
-- claim by a worker, event_count that of the last event. Long columns come last.
CREATE TABLE assignments (
    id                   UUID NOT NULL PRIMARY KEY,
    user_id              UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    skill_name           TEXT NOT NULL,
    mode                 TEXT COLLATE "C" NOT NULL,
    status               TEXT COLLATE "C" NOT NULL,
    step_count           INTEGER NOT NULL,
    tokens_spent         BIGINT NOT NULL,
    tokens_abandoned     BIGINT NOT NULL,
    created_at           TIMESTAMPTZ NOT NULL,
    updated_at           TIMESTAMPTZ NOT NULL,
    started_at           TIMESTAMPTZ,
    completed_at         TIMESTAMPTZ,
    plaintext_dropped_at TIMESTAMPTZ,
    due_at               TIMESTAMPTZ,
    worker_id            UUID,
    fence                BIGINT NOT NULL,
    failed_attempts      INTEGER NOT NULL,
    restarts             INTEGER NOT NULL,
    event_count          INTEGER NOT NULL,
    error_code           TEXT COLLATE "C",
    error_message        BYTEA,
    tools                TEXT,
    skill                TEXT NOT NULL,
    input                BYTEA,
    outputs              BYTEA,
    artifact_json        BYTEA,
    artifact_text        BYTEA
);
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
    id             UUID NOT NULL PRIMARY KEY,
    assignment_id  UUID NOT NULL REFERENCES assignments (id) ON DELETE CASCADE,
    ordinal        INTEGER NOT NULL,
    key            TEXT COLLATE "C" NOT NULL,
    kind           TEXT COLLATE "C" NOT NULL,
    message        TEXT,
    sealed_message BYTEA,
    detail         TEXT,
    created_at     TIMESTAMPTZ NOT NULL,
    UNIQUE (assignment_id, key)
);

-- Processes that work on assignments.
CREATE TABLE assignment_workers (
    id          UUID NOT NULL PRIMARY KEY,
    host        TEXT NOT NULL,
    started_at  TIMESTAMPTZ NOT NULL,
    alive_until TIMESTAMPTZ NOT NULL
);

-- Skills that may be granted, and the groups that they are granted to.
CREATE TABLE operators (
    id                UUID NOT NULL PRIMARY KEY,
    name              TEXT NOT NULL,
    skill             TEXT NOT NULL,
    skill_name_folded TEXT COLLATE "C" NOT NULL UNIQUE,
    is_custom         BOOLEAN NOT NULL,
    is_active         BOOLEAN NOT NULL,
    updated_at        TIMESTAMPTZ NOT NULL
);
CREATE TABLE operator_groups (
    operator_id UUID NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    group_id    UUID NOT NULL REFERENCES user_groups (id) ON DELETE CASCADE,
    PRIMARY KEY (operator_id, group_id)
);
CREATE INDEX operator_groups_of_group ON operator_groups (group_id);
