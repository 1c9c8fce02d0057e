-- Entries are chained: each has a position and a hash over itself and the entry
-- before it. A sequencer adds both after the entry was written; nothing else
-- of an entry is ever changed, and a position only once.
ALTER TABLE audit_entries ADD COLUMN changes TEXT;
ALTER TABLE audit_entries ADD COLUMN position INTEGER;
ALTER TABLE audit_entries ADD COLUMN link BLOB;
CREATE UNIQUE INDEX audit_entries_by_position ON audit_entries (position) WHERE position IS NOT NULL;
CREATE INDEX audit_entries_unchained ON audit_entries (id) WHERE position IS NULL;

DROP TRIGGER audit_entries_are_never_changed;
CREATE TRIGGER audit_entries_are_never_changed BEFORE UPDATE ON audit_entries
WHEN OLD.position IS NOT NULL
    OR OLD.id IS NOT NEW.id
    OR OLD.at IS NOT NEW.at
    OR OLD.action IS NOT NEW.action
    OR OLD.object IS NOT NEW.object
    OR OLD.request IS NOT NEW.request
    OR OLD.changes IS NOT NEW.changes
    OR OLD.actor_commitment IS NOT NEW.actor_commitment
    OR OLD.subject_commitment IS NOT NEW.subject_commitment
BEGIN
    SELECT RAISE(ABORT, 'audit entries are never changed');
END;

-- The signed end of the chain after each batch of entries.
CREATE TABLE audit_checkpoints (
    position   INTEGER NOT NULL PRIMARY KEY,
    link       BLOB NOT NULL,
    at         INTEGER NOT NULL,
    public_key BLOB NOT NULL,
    signature  BLOB NOT NULL
) STRICT;
CREATE INDEX audit_checkpoints_by_time ON audit_checkpoints (at);
INSERT INTO locks (name, turn) VALUES ('audit-chain', 0);
