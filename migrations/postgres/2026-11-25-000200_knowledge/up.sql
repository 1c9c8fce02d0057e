-- Knowledge bases, each of a group that owns it, and the groups that they are
-- shared with. model embedded what searches find; reindex_model is set while the
-- base is indexed again, and embeds what will replace it.
CREATE TABLE knowledge_bases (
    id            UUID NOT NULL PRIMARY KEY,
    group_id      UUID NOT NULL REFERENCES user_groups (id),
    name          TEXT NOT NULL,
    name_folded   TEXT COLLATE "C" NOT NULL UNIQUE,
    prompt        TEXT,
    model         TEXT COLLATE "C",
    reindex_model TEXT COLLATE "C",
    created_at    TIMESTAMPTZ NOT NULL,
    served_at     TIMESTAMPTZ NOT NULL
);
CREATE INDEX knowledge_bases_of_group ON knowledge_bases (group_id);
CREATE TABLE knowledge_base_groups (
    base_id  UUID NOT NULL REFERENCES knowledge_bases (id) ON DELETE CASCADE,
    group_id UUID NOT NULL REFERENCES user_groups (id) ON DELETE CASCADE,
    PRIMARY KEY (base_id, group_id)
);
CREATE INDEX knowledge_base_groups_of_group ON knowledge_base_groups (group_id);
CREATE TABLE persona_knowledge_bases (
    persona_id UUID NOT NULL REFERENCES managed_personas (id) ON DELETE CASCADE,
    base_id    UUID NOT NULL REFERENCES knowledge_bases (id) ON DELETE CASCADE,
    PRIMARY KEY (persona_id, base_id)
);
CREATE INDEX persona_knowledge_bases_of_base ON persona_knowledge_bases (base_id);

-- Documents. fence is the number of the last claim by a worker, new_… are of
-- the content that is being ingested beside the published one. That of a held
-- document is published when its base was indexed again.
CREATE TABLE knowledge_documents (
    id                UUID NOT NULL PRIMARY KEY,
    base_id           UUID NOT NULL REFERENCES knowledge_bases (id) ON DELETE CASCADE,
    title             TEXT NOT NULL,
    source_uri        TEXT COLLATE "C",
    content_type      TEXT COLLATE "C" NOT NULL,
    content_hash      BYTEA NOT NULL,
    size_bytes        BIGINT NOT NULL,
    status            TEXT COLLATE "C" NOT NULL,
    error             TEXT,
    chunk_count       BIGINT NOT NULL,
    tokens            BIGINT NOT NULL,
    new_chunks        BIGINT NOT NULL,
    new_embedded      BIGINT NOT NULL,
    new_model         TEXT COLLATE "C",
    is_held           BOOLEAN NOT NULL,
    reserved_tokens   BIGINT NOT NULL,
    failures          INTEGER NOT NULL,
    fence             BIGINT NOT NULL,
    due_at            TIMESTAMPTZ,
    retrieval_count   BIGINT NOT NULL,
    last_retrieved_at TIMESTAMPTZ,
    created_at        TIMESTAMPTZ NOT NULL,
    updated_at        TIMESTAMPTZ NOT NULL,
    UNIQUE (base_id, content_hash)
);
CREATE UNIQUE INDEX knowledge_documents_by_source ON knowledge_documents (base_id, source_uri);
CREATE INDEX knowledge_documents_due ON knowledge_documents (due_at) WHERE due_at IS NOT NULL;

-- Files of documents, apart from their rows, which are listed.
CREATE TABLE knowledge_files (
    document_id UUID NOT NULL PRIMARY KEY REFERENCES knowledge_documents (id) ON DELETE CASCADE,
    content     BYTEA NOT NULL
);

-- Chunks with their vectors: 32-bit floats, little-endian.
CREATE TABLE knowledge_chunks (
    id           UUID NOT NULL PRIMARY KEY,
    document_id  UUID NOT NULL REFERENCES knowledge_documents (id) ON DELETE CASCADE,
    is_published BOOLEAN NOT NULL,
    ordinal      INTEGER NOT NULL,
    path         TEXT NOT NULL,
    text         TEXT NOT NULL,
    hash         BYTEA NOT NULL,
    context      TEXT,
    vector       BYTEA,
    tokens       BIGINT NOT NULL,
    UNIQUE (document_id, is_published, ordinal)
);
CREATE INDEX knowledge_chunks_pending ON knowledge_chunks (document_id, ordinal) WHERE vector IS NULL;
CREATE INDEX knowledge_chunks_by_hash ON knowledge_chunks (document_id, hash);
ALTER TABLE knowledge_chunks ALTER COLUMN vector SET STORAGE EXTERNAL;

-- Chunks that are gone, whose points are still in the vector store.
CREATE TABLE knowledge_removed_chunks (
    id UUID NOT NULL PRIMARY KEY
);

-- Tokens that were embedded in a calendar month, UTC: year * 100 + month. A
-- deleted base's tokens stay charged to the group.
CREATE TABLE knowledge_usage (
    group_id UUID NOT NULL REFERENCES user_groups (id) ON DELETE CASCADE,
    base_id  UUID NOT NULL,
    month    INTEGER NOT NULL,
    tokens   BIGINT NOT NULL,
    PRIMARY KEY (group_id, month, base_id)
);

-- Questions that no document answered, of the members of a group, without those
-- who asked them.
CREATE TABLE knowledge_questions (
    id             UUID NOT NULL PRIMARY KEY,
    group_id       UUID NOT NULL REFERENCES user_groups (id) ON DELETE CASCADE,
    question       TEXT COLLATE "C" NOT NULL,
    seen_count    BIGINT NOT NULL,
    first_seen_at TIMESTAMPTZ NOT NULL,
    last_seen_at  TIMESTAMPTZ NOT NULL,
    UNIQUE (group_id, question)
);
CREATE INDEX knowledge_questions_by_time ON knowledge_questions (last_seen_at);
