-- Last run of each maintenance task, by any instance.
CREATE TABLE maintenance_runs (
    name             TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    last_started_at  TIMESTAMPTZ NOT NULL,
    last_finished_at TIMESTAMPTZ,
    last_error       TEXT,
    instance         TEXT NOT NULL
);
