-- What users report of answers. Fields that the server does not know are in
-- extension, as a JSON object.
CREATE TABLE ai_feedback (
    id              BLOB NOT NULL PRIMARY KEY,
    user_id         BLOB NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    schema_version  INTEGER NOT NULL,
    message_id      BLOB NOT NULL,
    chat_id         BLOB,
    rating          TEXT NOT NULL,
    comment         TEXT,
    answer_text     TEXT,
    pii_tokenized   INTEGER NOT NULL,
    privacy_concern INTEGER NOT NULL,
    model           TEXT,
    answered_at     INTEGER NOT NULL,
    reported_at     INTEGER NOT NULL,
    app_version     TEXT,
    locale          TEXT,
    extension       TEXT NOT NULL,
    received_at     INTEGER NOT NULL,
    status          TEXT NOT NULL,
    note            TEXT,
    updated_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX ai_feedback_by_time ON ai_feedback (received_at, id);
CREATE INDEX ai_feedback_of_user ON ai_feedback (user_id, received_at);
CREATE INDEX ai_feedback_answers ON ai_feedback (received_at) WHERE answer_text IS NOT NULL;
