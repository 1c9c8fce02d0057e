-- Last day on which each user called a model, in days since 1970-01-01 UTC, written with
-- the sums: counting the users of a month reads one row for each.
CREATE TABLE usage_users (
    user_id  BLOB NOT NULL PRIMARY KEY,
    last_day INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_users_by_day ON usage_users (last_day);

INSERT INTO usage_users
SELECT user_id, MAX(at) / 86400000000 FROM ai_usage GROUP BY user_id;
