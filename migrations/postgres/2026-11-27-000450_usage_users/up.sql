-- Last day on which each user called a model, in days since 1970-01-01 UTC, written with
-- the sums: counting the users of a month reads one row for each.
CREATE TABLE usage_users (
    user_id  UUID NOT NULL PRIMARY KEY,
    last_day INTEGER NOT NULL
);
CREATE INDEX usage_users_by_day ON usage_users (last_day);

INSERT INTO usage_users
SELECT user_id, (MAX(at) AT TIME ZONE 'UTC')::date - DATE '1970-01-01'
FROM ai_usage GROUP BY user_id;
