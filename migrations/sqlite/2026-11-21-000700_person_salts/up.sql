-- What a person's key is derived from beside the master key. Without it, what
-- was sealed for them cannot be read by anyone.
CREATE TABLE person_salts (
    user_id BLOB NOT NULL PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
    salt    BLOB NOT NULL
) STRICT, WITHOUT ROWID;
