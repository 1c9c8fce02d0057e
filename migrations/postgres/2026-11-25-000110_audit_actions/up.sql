-- Entries with one action, newest first.
CREATE INDEX audit_entries_by_action ON audit_entries (action, at, id);
