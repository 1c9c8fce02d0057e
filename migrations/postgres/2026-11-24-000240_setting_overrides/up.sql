-- Settings that administrators changed in the console: a layer above all others.
-- The turn of the lock is the layer's version.
CREATE TABLE setting_overrides (
    key        TEXT NOT NULL PRIMARY KEY,
    value      TEXT NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    updated_by UUID REFERENCES accounts (id) ON DELETE SET NULL
);
CREATE INDEX setting_overrides_of_writer ON setting_overrides (updated_by);
INSERT INTO locks (name, turn) VALUES ('setting-overrides', 0);
