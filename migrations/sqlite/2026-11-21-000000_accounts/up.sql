-- `email` is as its owner spelled it, `email_folded` what addresses are
-- compared by.
CREATE TABLE accounts (
    id             BLOB NOT NULL PRIMARY KEY,
    email          TEXT NOT NULL,
    email_folded   TEXT NOT NULL UNIQUE,
    display_name   TEXT,
    provider       TEXT NOT NULL,
    password_hash  TEXT,
    customer_type  INTEGER NOT NULL,
    company_name   TEXT,
    created_at     INTEGER NOT NULL,
    deactivated_at INTEGER
) STRICT;

-- Rows that are locked where a rule spans rows of another table. Registering
-- takes `accounts`, so that seats are counted by one at a time.
CREATE TABLE locks (
    name TEXT NOT NULL PRIMARY KEY,
    turn INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO locks (name, turn) VALUES ('accounts', 0);
