//! Rows of `knowledge_chunks`.

use std::collections::HashMap;

use diesel::prelude::*;
use pia_kernel::KnowledgeBaseId;
use pia_knowledge::{ChunkId, IndexedChunk, NewChunk};
use pia_storage::schema::{knowledge_chunks, knowledge_documents};
use pia_storage::{DbUid, insert_all};

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
    context: Option<String>,
    pub(crate) vector: Option<Vec<u8>>,
    tokens: i64,
}

insert_all! {
    ChunkRow => knowledge_chunks,
}

/// Published chunk: the hash of its texts, its vector, tokens and context.
pub(crate) type PublishedChunk = (Vec<u8>, Vec<u8>, i64, Option<String>);

impl ChunkRow {
    /// Creates the rows of chunks, with the contexts and vectors of published
    /// ones that have the same hash.
    pub(crate) fn with_vectors(
        document: DbUid,
        chunks: &[NewChunk],
        published: Vec<PublishedChunk>,
    ) -> Vec<Self> {
        let published: HashMap<_, _> = published
            .into_iter()
            .map(|(hash, vector, tokens, context)| (hash, (vector, tokens, context)))
            .collect();
        let row = |it: &NewChunk| {
            let same = published.get(&it.hash[..]);
            Self {
                id: DbUid(it.id.0),
                document_id: document,
                is_published: false,
                ordinal: it.ordinal,
                path: without_nul(&it.path),
                text: without_nul(&it.text),
                hash: it.hash.to_vec(),
                context: same.and_then(|it| it.2.clone()),
                vector: same.map(|it| it.0.clone()),
                tokens: same.map_or(0, |it| it.1),
            }
        };
        chunks.iter().map(row).collect()
    }
}

/// Returns a text without NUL, which PostgreSQL does not store.
pub(crate) fn without_nul(text: &str) -> String {
    text.replace('\0', "")
}

/// Columns of a chunk as it is indexed.
pub(crate) const INDEXED: (
    knowledge_chunks::id,
    knowledge_documents::base_id,
    knowledge_chunks::path,
    knowledge_chunks::text,
    knowledge_chunks::context,
    knowledge_chunks::vector,
) = (
    knowledge_chunks::id,
    knowledge_documents::base_id,
    knowledge_chunks::path,
    knowledge_chunks::text,
    knowledge_chunks::context,
    knowledge_chunks::vector,
);

/// Values of [`INDEXED`].
pub(crate) type IndexedRow = (DbUid, DbUid, String, String, Option<String>, Option<Vec<u8>>);

/// Returns the chunk of a row.
pub(crate) fn indexed((id, base, path, text, context, vector): IndexedRow) -> IndexedChunk {
    IndexedChunk {
        id: ChunkId(id.0),
        base: KnowledgeBaseId(base.0),
        path,
        text,
        context: context.unwrap_or_default(),
        dense: from_bytes(&vector.unwrap_or_default()),
    }
}
