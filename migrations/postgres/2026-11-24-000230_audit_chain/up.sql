-- Entries are chained: each has a position and a hash over itself and the entry
-- before it. A sequencer adds both after the entry was written; nothing else
-- of an entry is ever changed, and a position only once.
ALTER TABLE audit_entries ADD COLUMN changes TEXT;
ALTER TABLE audit_entries ADD COLUMN position BIGINT;
ALTER TABLE audit_entries ADD COLUMN link BYTEA;
CREATE UNIQUE INDEX audit_entries_by_position ON audit_entries (position) WHERE position IS NOT NULL;
CREATE INDEX audit_entries_unchained ON audit_entries (id) WHERE position IS NULL;

DROP TRIGGER audit_entries_are_never_changed ON audit_entries;
CREATE TRIGGER audit_entries_are_never_changed BEFORE UPDATE ON audit_entries
    FOR EACH ROW WHEN (
        OLD.position IS NOT NULL
        OR (OLD.id, OLD.at, OLD.action, OLD.object, OLD.request, OLD.changes, OLD.actor_commitment, OLD.subject_commitment)
        IS DISTINCT FROM
        (NEW.id, NEW.at, NEW.action, NEW.object, NEW.request, NEW.changes, NEW.actor_commitment, NEW.subject_commitment)
    ) EXECUTE FUNCTION audit_entries_are_never_changed();

-- The signed end of the chain after each batch of entries.
CREATE TABLE audit_checkpoints (
    position   BIGINT NOT NULL PRIMARY KEY,
    link       BYTEA NOT NULL,
    at         TIMESTAMPTZ NOT NULL,
    public_key BYTEA NOT NULL,
    signature  BYTEA NOT NULL
);
CREATE INDEX audit_checkpoints_by_time ON audit_checkpoints (at);
INSERT INTO locks (name, turn) VALUES ('audit-chain', 0);
