-- The name of the key that data is sealed with: one row, and never the key.
CREATE TABLE master_key (
    id     INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    key_id TEXT COLLATE "C" NOT NULL
);
