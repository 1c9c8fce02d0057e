-- Time at which the session last proved its owner after the sign-in.
ALTER TABLE sessions ADD COLUMN proved_at INTEGER;
