-- Number of users who called a model on each day, in days since 1970-01-01 UTC, written
-- with the sums: the overview reads thirty rows instead of all weeks of all users.
CREATE TABLE usage_days (
    day   INTEGER NOT NULL PRIMARY KEY,
    users BIGINT NOT NULL
) WITH (fillfactor = 70);

INSERT INTO usage_days (day, users)
SELECT week * 7, COUNT(*) FROM usage_by_user WHERE calls_0 > 0 GROUP BY week
UNION ALL SELECT week * 7 + 1, COUNT(*) FROM usage_by_user WHERE calls_1 > 0 GROUP BY week
UNION ALL SELECT week * 7 + 2, COUNT(*) FROM usage_by_user WHERE calls_2 > 0 GROUP BY week
UNION ALL SELECT week * 7 + 3, COUNT(*) FROM usage_by_user WHERE calls_3 > 0 GROUP BY week
UNION ALL SELECT week * 7 + 4, COUNT(*) FROM usage_by_user WHERE calls_4 > 0 GROUP BY week
UNION ALL SELECT week * 7 + 5, COUNT(*) FROM usage_by_user WHERE calls_5 > 0 GROUP BY week
UNION ALL SELECT week * 7 + 6, COUNT(*) FROM usage_by_user WHERE calls_6 > 0 GROUP BY week;
