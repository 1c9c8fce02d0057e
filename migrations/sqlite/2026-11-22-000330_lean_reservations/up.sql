-- There are as many rows as calls are open, times a few, and who looks for them
-- other than by their id looks at all of them: to keep a table beside its key,
-- and two more indexes, cost each call more than they ever saved.
CREATE TABLE credit_reservations_lean (
    id          BLOB NOT NULL,
    window_key  TEXT NOT NULL,
    instance_id BLOB NOT NULL,
    amount      INTEGER NOT NULL,
    opened_at   INTEGER NOT NULL,
    PRIMARY KEY (id, window_key)
) STRICT, WITHOUT ROWID;
INSERT INTO credit_reservations_lean (id, window_key, instance_id, amount, opened_at)
    SELECT id, window_key, instance_id, amount, opened_at FROM credit_reservations;
DROP TABLE credit_reservations;
ALTER TABLE credit_reservations_lean RENAME TO credit_reservations;
