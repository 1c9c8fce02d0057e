-- Of a bucket only the time is kept at which it is full again.
CREATE TABLE attempts (
    who        TEXT NOT NULL PRIMARY KEY,
    tat_micros INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
