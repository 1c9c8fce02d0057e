-- Browsers that are signed in to the pages of their own account, not to the console.
ALTER TABLE sessions ADD COLUMN account_only INTEGER NOT NULL DEFAULT 0;
