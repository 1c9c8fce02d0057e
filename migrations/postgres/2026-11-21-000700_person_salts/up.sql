-- What a person's key is derived from beside the master key. Without it, what
-- was sealed for them cannot be read by anyone.
CREATE TABLE person_salts (
    user_id UUID NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    salt    BYTEA NOT NULL
);
