-- Nothing refers to accounts: what was used stays known when an account goes,
-- and a batch that is written after that must not fail.
CREATE TABLE ai_usage (
    id                  BLOB NOT NULL PRIMARY KEY,
    at                  INTEGER NOT NULL,
    user_id             BLOB NOT NULL,
    mode                TEXT NOT NULL,
    provider            TEXT NOT NULL,
    model               TEXT NOT NULL,
    input_tokens        INTEGER NOT NULL,
    cached_input_tokens INTEGER NOT NULL,
    output_tokens       INTEGER NOT NULL,
    estimated           INTEGER NOT NULL,
    outcome             TEXT NOT NULL
) STRICT;
CREATE INDEX ai_usage_of_user ON ai_usage (user_id, at);
