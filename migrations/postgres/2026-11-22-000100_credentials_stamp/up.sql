-- How often what an account is opened with was changed: its password, its
-- second factor, its passkeys. What somebody has shown before the last change
-- begins no session after it.
ALTER TABLE accounts ADD COLUMN credentials_epoch BIGINT NOT NULL DEFAULT 0;
