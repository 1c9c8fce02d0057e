-- `email` is as its owner spelled it, `email_folded` what addresses are
-- compared by.
CREATE TABLE accounts (
    id             UUID NOT NULL PRIMARY KEY,
    email          TEXT NOT NULL,
    email_folded   TEXT COLLATE "C" NOT NULL UNIQUE,
    display_name   TEXT,
    provider       TEXT NOT NULL,
    password_hash  TEXT,
    customer_type  INTEGER NOT NULL,
    company_name   TEXT,
    created_at     TIMESTAMPTZ NOT NULL,
    deactivated_at TIMESTAMPTZ
);

-- Rows that are locked where a rule spans rows of another table. Registering
-- takes `accounts`, so that seats are counted by one at a time.
CREATE TABLE locks (
    name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    turn BIGINT NOT NULL
);
INSERT INTO locks (name, turn) VALUES ('accounts', 0);
