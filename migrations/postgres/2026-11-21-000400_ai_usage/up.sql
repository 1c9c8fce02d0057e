-- Nothing refers to accounts: what was used stays known when an account goes,
-- and a batch that is written after that must not fail.
CREATE TABLE ai_usage (
    id                  UUID NOT NULL PRIMARY KEY,
    at                  TIMESTAMPTZ NOT NULL,
    user_id             UUID NOT NULL,
    mode                TEXT COLLATE "C" NOT NULL,
    provider            TEXT COLLATE "C" NOT NULL,
    model               TEXT COLLATE "C" NOT NULL,
    input_tokens        BIGINT NOT NULL,
    cached_input_tokens BIGINT NOT NULL,
    output_tokens       BIGINT NOT NULL,
    estimated           BOOLEAN NOT NULL,
    outcome             TEXT COLLATE "C" NOT NULL
);
CREATE INDEX ai_usage_of_user ON ai_usage (user_id, at);
