-- Questions for which a base was searched and nothing was found.
ALTER TABLE knowledge_bases ADD COLUMN miss_count BIGINT NOT NULL DEFAULT 0;
ALTER TABLE knowledge_bases ADD COLUMN last_missed_at TIMESTAMPTZ;
