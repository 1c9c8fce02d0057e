-- Times in which nobody was given a stamp, as far as is known here: from the
-- highest one that was there when a server started, until that start. A device
-- that has one of such a time was given it by a server whose data was lost.
CREATE TABLE silences (
    began_at TIMESTAMPTZ NOT NULL PRIMARY KEY,
    ended_at TIMESTAMPTZ NOT NULL
);
