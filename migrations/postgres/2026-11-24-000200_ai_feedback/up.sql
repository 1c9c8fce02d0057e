-- What users report of answers. Fields that the server does not know are in
-- extension, as a JSON object.
CREATE TABLE ai_feedback (
    id              UUID NOT NULL PRIMARY KEY,
    user_id         UUID NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    schema_version  INTEGER NOT NULL,
    message_id      UUID NOT NULL,
    chat_id         UUID,
    rating          TEXT COLLATE "C" NOT NULL,
    comment         TEXT,
    answer_text     TEXT,
    pii_tokenized   BOOLEAN NOT NULL,
    privacy_concern BOOLEAN NOT NULL,
    model           TEXT,
    answered_at     TIMESTAMPTZ NOT NULL,
    reported_at     TIMESTAMPTZ NOT NULL,
    app_version     TEXT,
    locale          TEXT,
    extension       TEXT NOT NULL,
    received_at     TIMESTAMPTZ NOT NULL,
    status          TEXT COLLATE "C" NOT NULL,
    note            TEXT,
    updated_at      TIMESTAMPTZ NOT NULL
);
CREATE INDEX ai_feedback_by_time ON ai_feedback (received_at, id);
CREATE INDEX ai_feedback_of_user ON ai_feedback (user_id, received_at);
CREATE INDEX ai_feedback_answers ON ai_feedback (received_at) WHERE answer_text IS NOT NULL;
