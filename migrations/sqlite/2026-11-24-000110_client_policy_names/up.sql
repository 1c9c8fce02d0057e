-- Names of client policies are unique without regard to case, among those that
-- are not deleted.
ALTER TABLE client_policies ADD COLUMN name_folded TEXT;
CREATE UNIQUE INDEX client_policies_name ON client_policies (name_folded) WHERE deleted_at IS NULL;
