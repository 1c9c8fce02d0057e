-- Wrong passwords in a row, by what they are counted under, and before when
-- the next one is not even looked at.
CREATE TABLE guesses (
    who           TEXT NOT NULL PRIMARY KEY,
    failures      INTEGER NOT NULL,
    blocked_until TIMESTAMPTZ NOT NULL,
    forgotten_at  TIMESTAMPTZ NOT NULL
);
CREATE INDEX guesses_forgotten ON guesses (forgotten_at);

-- From where an account was signed in to before.
CREATE INDEX sign_ins_of_user_from ON sign_ins (user_id, address);
