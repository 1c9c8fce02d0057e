-- What identifies a person stands beside the entry, sealed, and goes when the
-- person does; the entry keeps only a salted commitment to it, so that a chain
-- over entries stays verifiable. What older entries told is moved there.
CREATE TABLE audit_identities (
    entry_id UUID NOT NULL REFERENCES audit_entries (id) ON DELETE CASCADE,
    part     TEXT COLLATE "C" NOT NULL,
    user_id  UUID,
    sealed   BYTEA,
    PRIMARY KEY (entry_id, part)
);
CREATE INDEX audit_identities_of_user ON audit_identities (user_id, entry_id);
INSERT INTO audit_identities (entry_id, part, user_id) SELECT id, 'subject', subject FROM audit_entries;

DROP INDEX audit_entries_of_subject;
ALTER TABLE audit_entries DROP COLUMN subject;
ALTER TABLE audit_entries ADD COLUMN object TEXT;
ALTER TABLE audit_entries ADD COLUMN request TEXT;
ALTER TABLE audit_entries ADD COLUMN actor_commitment BYTEA;
ALTER TABLE audit_entries ADD COLUMN subject_commitment BYTEA;

CREATE FUNCTION audit_entries_are_never_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit entries are never changed';
END
$$;
CREATE TRIGGER audit_entries_are_never_changed BEFORE UPDATE ON audit_entries
    FOR EACH ROW EXECUTE FUNCTION audit_entries_are_never_changed();
