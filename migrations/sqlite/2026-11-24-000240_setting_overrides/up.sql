-- Settings that administrators changed in the console: a layer above all others.
-- The turn of the lock is the layer's version.
CREATE TABLE setting_overrides (
    key        TEXT NOT NULL PRIMARY KEY,
    value      TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    updated_by BLOB REFERENCES accounts (id) ON DELETE SET NULL
) STRICT;
CREATE INDEX setting_overrides_of_writer ON setting_overrides (updated_by);
INSERT INTO locks (name, turn) VALUES ('setting-overrides', 0);
