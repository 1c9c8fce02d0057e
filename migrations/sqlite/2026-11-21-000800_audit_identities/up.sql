-- What identifies a person stands beside the entry, sealed, and goes when the
-- person does; the entry keeps only a salted commitment to it, so that a chain
-- over entries stays verifiable. What older entries told is moved there.
CREATE TABLE audit_identities (
    entry_id BLOB NOT NULL REFERENCES audit_entries (id) ON DELETE CASCADE,
    part     TEXT NOT NULL,
    user_id  BLOB,
    sealed   BLOB,
    PRIMARY KEY (entry_id, part)
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_identities_of_user ON audit_identities (user_id, entry_id);
INSERT INTO audit_identities (entry_id, part, user_id) SELECT id, 'subject', subject FROM audit_entries;

DROP INDEX audit_entries_of_subject;
ALTER TABLE audit_entries DROP COLUMN subject;
ALTER TABLE audit_entries ADD COLUMN object TEXT;
ALTER TABLE audit_entries ADD COLUMN request TEXT;
ALTER TABLE audit_entries ADD COLUMN actor_commitment BLOB;
ALTER TABLE audit_entries ADD COLUMN subject_commitment BLOB;

CREATE TRIGGER audit_entries_are_never_changed BEFORE UPDATE ON audit_entries
BEGIN
    SELECT RAISE(ABORT, 'audit entries are never changed');
END;
