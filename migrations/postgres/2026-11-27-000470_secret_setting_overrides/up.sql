-- Value of a secret, encrypted under the master key; `value` is empty then.
ALTER TABLE setting_overrides ADD COLUMN sealed BYTEA;
