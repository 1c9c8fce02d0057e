-- Knowledge bases, each of a group that owns it, and the groups that they are
-- shared with. model embedded what searches find; reindex_model is set while the
-- base is indexed again, and embeds what will replace it.
CREATE TABLE knowledge_bases (
    id            BLOB NOT NULL PRIMARY KEY,
    group_id      BLOB NOT NULL REFERENCES user_groups (id),
    name          TEXT NOT NULL,
    name_folded   TEXT NOT NULL UNIQUE,
    prompt        TEXT,
    model         TEXT,
    reindex_model TEXT,
    created_at    INTEGER NOT NULL,
    served_at     INTEGER NOT NULL
) STRICT;
CREATE INDEX knowledge_bases_of_group ON knowledge_bases (group_id);
CREATE TABLE knowledge_base_groups (
    base_id  BLOB NOT NULL REFERENCES knowledge_bases (id) ON DELETE CASCADE,
    group_id BLOB NOT NULL REFERENCES user_groups (id) ON DELETE CASCADE,
    PRIMARY KEY (base_id, group_id)
) STRICT;
CREATE INDEX knowledge_base_groups_of_group ON knowledge_base_groups (group_id);
CREATE TABLE persona_knowledge_bases (
    persona_id BLOB NOT NULL REFERENCES managed_personas (id) ON DELETE CASCADE,
    base_id    BLOB NOT NULL REFERENCES knowledge_bases (id) ON DELETE CASCADE,
    PRIMARY KEY (persona_id, base_id)
) STRICT;
CREATE INDEX persona_knowledge_bases_of_base ON persona_knowledge_bases (base_id);

-- Documents. fence is the number of the last claim by a worker, new_… are of
-- the content that is being ingested beside the published one. That of a held
-- document is published when its base was indexed again.
CREATE TABLE knowledge_documents (
    id                BLOB NOT NULL PRIMARY KEY,
    base_id           BLOB NOT NULL REFERENCES knowledge_bases (id) ON DELETE CASCADE,
    title             TEXT NOT NULL,
    source_uri        TEXT,
    content_type      TEXT NOT NULL,
    content_hash      BLOB NOT NULL,
    size_bytes        INTEGER NOT NULL,
    status            TEXT NOT NULL,
    error             TEXT,
    chunk_count       INTEGER NOT NULL,
    tokens            INTEGER NOT NULL,
    new_chunks        INTEGER NOT NULL,
    new_embedded      INTEGER NOT NULL,
    new_model         TEXT,
    is_held           INTEGER NOT NULL,
    reserved_tokens   INTEGER NOT NULL,
    failures          INTEGER NOT NULL,
    fence             INTEGER NOT NULL,
    due_at            INTEGER,
    retrieval_count   INTEGER NOT NULL,
    last_retrieved_at INTEGER,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL,
    UNIQUE (base_id, content_hash)
) STRICT;
CREATE UNIQUE INDEX knowledge_documents_by_source ON knowledge_documents (base_id, source_uri);
CREATE INDEX knowledge_documents_due ON knowledge_documents (due_at) WHERE due_at IS NOT NULL;

-- Files of documents, apart from their rows, which are listed.
CREATE TABLE knowledge_files (
    document_id BLOB NOT NULL PRIMARY KEY REFERENCES knowledge_documents (id) ON DELETE CASCADE,
    content     BLOB NOT NULL
) STRICT;

-- Chunks with their vectors: 32-bit floats, little-endian.
CREATE TABLE knowledge_chunks (
    id           BLOB NOT NULL PRIMARY KEY,
    document_id  BLOB NOT NULL REFERENCES knowledge_documents (id) ON DELETE CASCADE,
    is_published INTEGER NOT NULL,
    ordinal      INTEGER NOT NULL,
    path         TEXT NOT NULL,
    text         TEXT NOT NULL,
    hash         BLOB NOT NULL,
    context      TEXT,
    vector       BLOB,
    tokens       INTEGER NOT NULL,
    UNIQUE (document_id, is_published, ordinal)
) STRICT;
CREATE INDEX knowledge_chunks_pending ON knowledge_chunks (document_id, ordinal) WHERE vector IS NULL;
CREATE INDEX knowledge_chunks_by_hash ON knowledge_chunks (document_id, hash);

-- Chunks that are gone, whose points are still in the vector store.
CREATE TABLE knowledge_removed_chunks (
    id BLOB NOT NULL PRIMARY KEY
) STRICT;

-- Tokens that were embedded in a calendar month, UTC: year * 100 + month. A
-- deleted base's tokens stay charged to the group.
CREATE TABLE knowledge_usage (
    group_id BLOB NOT NULL REFERENCES user_groups (id) ON DELETE CASCADE,
    base_id  BLOB NOT NULL,
    month    INTEGER NOT NULL,
    tokens   INTEGER NOT NULL,
    PRIMARY KEY (group_id, month, base_id)
) STRICT;

-- Questions that no document answered, of the members of a group, without those
-- who asked them.
CREATE TABLE knowledge_questions (
    id             BLOB NOT NULL PRIMARY KEY,
    group_id       BLOB NOT NULL REFERENCES user_groups (id) ON DELETE CASCADE,
    question       TEXT NOT NULL,
    seen_count    INTEGER NOT NULL,
    first_seen_at INTEGER NOT NULL,
    last_seen_at  INTEGER NOT NULL,
    UNIQUE (group_id, question)
) STRICT;
CREATE INDEX knowledge_questions_by_time ON knowledge_questions (last_seen_at);
