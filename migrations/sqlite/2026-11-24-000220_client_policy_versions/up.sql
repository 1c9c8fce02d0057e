-- What a client policy contained after each write. The version with the
-- highest number is the policy itself.
CREATE TABLE client_policy_versions (
    policy_id   BLOB NOT NULL REFERENCES client_policies (id) ON DELETE CASCADE,
    number      INTEGER NOT NULL,
    name        TEXT NOT NULL,
    description TEXT,
    document    TEXT NOT NULL,
    written_at  INTEGER NOT NULL,
    written_by  BLOB REFERENCES accounts (id) ON DELETE SET NULL,
    PRIMARY KEY (policy_id, number)
) STRICT;
CREATE INDEX client_policy_versions_of_writer ON client_policy_versions (written_by);
INSERT INTO client_policy_versions (policy_id, number, name, description, document, written_at)
SELECT id, 1, name, description, document, updated_at FROM client_policies;
