-- Since when a passkey opens nothing, because its counter went back, until its
-- owner lets it in again.
ALTER TABLE passkeys ADD COLUMN blocked_at INTEGER;
