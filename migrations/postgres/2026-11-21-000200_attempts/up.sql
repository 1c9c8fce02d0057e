-- Of a bucket only the time is kept at which it is full again. That column
-- has no index, so that counting an attempt need not write one; the sweep
-- reads the whole table.
CREATE TABLE attempts (
    who        TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    tat_micros BIGINT NOT NULL
) WITH (fillfactor = 70);
