-- Number of users who called a model on each day, in days since 1970-01-01 UTC, written
-- with the sums: the overview reads thirty rows instead of all weeks of all users.
CREATE TABLE usage_days (
    day   INTEGER NOT NULL PRIMARY KEY,
    users INTEGER NOT NULL
) STRICT;

-- Deleted accounts share the nil id and are not counted.
INSERT INTO usage_days (day, users)
WITH people AS (SELECT * FROM usage_by_user WHERE user_id <> zeroblob(16))
SELECT week * 7, COUNT(*) FROM people WHERE calls_0 > 0 GROUP BY week
UNION ALL SELECT week * 7 + 1, COUNT(*) FROM people WHERE calls_1 > 0 GROUP BY week
UNION ALL SELECT week * 7 + 2, COUNT(*) FROM people WHERE calls_2 > 0 GROUP BY week
UNION ALL SELECT week * 7 + 3, COUNT(*) FROM people WHERE calls_3 > 0 GROUP BY week
UNION ALL SELECT week * 7 + 4, COUNT(*) FROM people WHERE calls_4 > 0 GROUP BY week
UNION ALL SELECT week * 7 + 5, COUNT(*) FROM people WHERE calls_5 > 0 GROUP BY week
UNION ALL SELECT week * 7 + 6, COUNT(*) FROM people WHERE calls_6 > 0 GROUP BY week;
