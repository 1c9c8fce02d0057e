-- Nothing refers to accounts: an entry outlives whom it is about.
CREATE TABLE audit_entries (
    id      BLOB NOT NULL PRIMARY KEY,
    at      INTEGER NOT NULL,
    subject BLOB NOT NULL,
    action  TEXT NOT NULL
) STRICT;
CREATE INDEX audit_entries_by_time ON audit_entries (at);
CREATE INDEX audit_entries_of_subject ON audit_entries (subject, at);
