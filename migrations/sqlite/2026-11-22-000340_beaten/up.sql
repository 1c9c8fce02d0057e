-- By which what lost against an item last is known again: a device that says the
-- same in each cycle must not keep others from hearing that nothing changed.
ALTER TABLE sync_items ADD COLUMN beaten BLOB;
