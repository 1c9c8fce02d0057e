-- Last run of each maintenance task, by any instance.
CREATE TABLE maintenance_runs (
    name             TEXT NOT NULL PRIMARY KEY,
    last_started_at  INTEGER NOT NULL,
    last_finished_at INTEGER,
    last_error       TEXT,
    instance         TEXT NOT NULL
) STRICT;
