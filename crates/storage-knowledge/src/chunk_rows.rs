//! Rows of `knowledge_chunks`.
//!
//! A chunk whose hash is that of a published one need not be embedded again:
//! `copy_chunks` takes over its context, and its vector if that is still right.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::KnowledgeBaseId;
use pia_knowledge::{ChunkId, IndexedChunk, NewChunk, PendingChunk};
use pia_storage::schema::{knowledge_chunks, knowledge_documents};
use pia_storage::{DbError, DbUid, Uid, connection_trait, insert_all};

use crate::vector_bytes::from_bytes;

/// Chunk of content that is being ingested.
#[derive(Debug, Clone, Insertable)]
#[diesel(table_name = knowledge_chunks)]
pub(crate) struct ChunkRow {
    id: DbUid,
    document_id: DbUid,
    is_published: bool,
    ordinal: i32,
    path: String,
    text: String,
    hash: Vec<u8>,
    tokens: i64,
}

insert_all! {
    ChunkRow => knowledge_chunks,
}

impl ChunkRow {
    /// Returns the rows of chunks that wait for their vectors.
    pub(crate) fn all(document: DbUid, chunks: &[NewChunk]) -> Vec<Self> {
        let row = |it: &NewChunk| Self {
            id: DbUid(it.id.0),
            document_id: document,
            is_published: false,
            ordinal: it.ordinal,
            path: without_nul(&it.path),
            text: without_nul(&it.text),
            hash: it.hash.to_vec(),
            tokens: 0,
        };
        chunks.iter().map(row).collect()
    }
}

/// Chunk that waits for its vector.
#[derive(Queryable)]
pub(crate) struct PendingRow {
    id: DbUid,
    ordinal: i32,
    path: String,
    text: String,
    context: Option<String>,
}

/// Returns the chunk of a row.
pub(crate) fn to_pending_chunk(row: PendingRow) -> PendingChunk {
    PendingChunk {
        id: ChunkId(row.id.0),
        ordinal: row.ordinal,
        path: row.path,
        text: row.text,
        context: row.context,
    }
}

/// Vectors that new chunks get of published ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopiedVectors {
    /// No vectors, since the model is another one.
    None,
    /// Vectors of chunks that have a context.
    WithContext,
    /// Vectors of all chunks with the same hash.
    All,
}

impl CopiedVectors {
    /// Returns the vectors that remain right for new chunks. `needs_contexts` means
    /// that chunks without a context get one, which changes their vectors.
    pub(crate) fn new(is_same_model: bool, needs_contexts: bool) -> Self {
        match (is_same_model, needs_contexts) {
            (false, _) => Self::None,
            (true, true) => Self::WithContext,
            (true, false) => Self::All,
        }
    }
}

connection_trait! {
    /// Copying of the contexts and vectors of published chunks.
    pub(crate) trait CopyChunks {
        /// Copies the contexts of a document's published chunks, and these of their
        /// vectors, to its new chunks with the same hash.
        async fn copy_chunks(
            &mut self,
            document: DbUid,
            vectors: CopiedVectors,
        ) -> Result<(), DbError> {
            let is_copied = match vectors {
                CopiedVectors::None => "FALSE",
                CopiedVectors::WithContext => "old.context IS NOT NULL",
                CopiedVectors::All => "TRUE",
            };

            let copy = format!(
                "UPDATE knowledge_chunks SET context = old.context,
                    vector = CASE WHEN {is_copied} THEN old.vector END,
                    tokens = CASE WHEN {is_copied} THEN old.tokens ELSE 0 END
                FROM knowledge_chunks AS old
                WHERE knowledge_chunks.document_id = $1 AND NOT knowledge_chunks.is_published
                  AND old.document_id = knowledge_chunks.document_id AND old.is_published
                  AND old.hash = knowledge_chunks.hash"
            );
            diesel::sql_query(copy).bind::<Uid, _>(document).execute(self).await?;
            Ok(())
        }
    }
}

/// Returns a text without NUL, which PostgreSQL does not store.
pub(crate) fn without_nul(text: &str) -> String {
    text.replace('\0', "")
}

/// Columns of an [`IndexedRow`].
pub(crate) const INDEXED: (
    knowledge_chunks::id,
    knowledge_documents::base_id,
    knowledge_documents::title,
    knowledge_chunks::path,
    knowledge_chunks::text,
    knowledge_chunks::context,
    knowledge_chunks::vector,
) = (
    knowledge_chunks::id,
    knowledge_documents::base_id,
    knowledge_documents::title,
    knowledge_chunks::path,
    knowledge_chunks::text,
    knowledge_chunks::context,
    knowledge_chunks::vector,
);

/// Chunk of a document, with its base, context and vector.
#[derive(Queryable)]
pub(crate) struct IndexedRow {
    id: DbUid,
    base: DbUid,
    title: String,
    path: String,
    text: String,
    context: Option<String>,
    vector: Option<Vec<u8>>,
}

/// Returns the chunk of a row.
pub(crate) fn to_indexed_chunk(row: IndexedRow) -> IndexedChunk {
    IndexedChunk {
        id: ChunkId(row.id.0),
        base: KnowledgeBaseId(row.base.0),
        title: row.title,
        path: row.path,
        text: row.text,
        context: row.context.unwrap_or_default(),
        dense: from_bytes(&row.vector.unwrap_or_default()),
    }
}
