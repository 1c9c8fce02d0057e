-- Nothing refers to accounts: an entry outlives whom it is about.
CREATE TABLE audit_entries (
    id      UUID NOT NULL PRIMARY KEY,
    at      TIMESTAMPTZ NOT NULL,
    subject UUID NOT NULL,
    action  TEXT COLLATE "C" NOT NULL
);
CREATE INDEX audit_entries_by_time ON audit_entries (at);
CREATE INDEX audit_entries_of_subject ON audit_entries (subject, at);
