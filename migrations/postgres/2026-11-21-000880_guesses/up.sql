-- Wrong passwords in a row, by what they are counted under, and for how long
-- after the last of them the next one is not even looked at.
CREATE TABLE guesses (
    who               TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    failures          INTEGER NOT NULL,
    wait_micros       BIGINT NOT NULL,
    counted_at_micros BIGINT NOT NULL
);
CREATE INDEX guesses_by_time ON guesses (counted_at_micros);

-- From where an account was signed in to before: the address, or of IPv6 the
-- network. Of older sign-ins it is known where the two are the same.
ALTER TABLE sign_ins ADD COLUMN network TEXT COLLATE "C";
UPDATE sign_ins SET network = address WHERE address NOT LIKE '%:%';
CREATE INDEX sign_ins_of_user_from ON sign_ins (user_id, network);
