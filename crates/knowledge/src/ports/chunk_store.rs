//! Port of the chunks that searches find; implemented in `storage-knowledge`.
//!
//! `retrieval.rs` reads chunks from here after the vector store has found their ids;
//! `reconciliation.rs` compares the ids. Chunks are written through `ingest_queue.rs`.

use std::fmt;

use async_trait::async_trait;
use pia_kernel::{DocumentId, GroupId, KnowledgeBaseId, PersonaId, Timestamp, Unavailable};
use uuid::Uuid;

use crate::retrieval::SearchedBase;

/// Store of the chunks that searches find, and the queue of the points to be
/// removed from the vector store.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait ChunkStore: Send + Sync {
    /// Loads the bases that a member of this group searches: those of the
    /// group, those shared with it, and those bound to this persona if it is
    /// active and assigned to the group. Only bases with documents that searches
    /// find.
    async fn searched_bases(
        &self,
        group: GroupId,
        persona: Option<PersonaId>,
    ) -> Result<Vec<SearchedBase>, Unavailable>;

    /// Loads the models of these bases. Those in which searches find nothing are
    /// left out.
    async fn models(
        &self,
        bases: &[KnowledgeBaseId],
    ) -> Result<Vec<(KnowledgeBaseId, String)>, Unavailable>;

    /// Loads published chunks. Others are left out.
    async fn passages(&self, chunks: &[ChunkId]) -> Result<Vec<StoredPassage>, Unavailable>;

    /// Loads the texts of a document's published chunks, in order.
    async fn texts(&self, document: DocumentId) -> Result<Vec<String>, Unavailable>;

    /// Counts a retrieval of each of these documents.
    async fn count_retrievals(
        &self,
        documents: &[DocumentId],
        at: Timestamp,
    ) -> Result<(), Unavailable>;

    /// Counts a question for which nothing was found in any of these bases.
    async fn count_miss(&self, bases: &[KnowledgeBaseId], at: Timestamp)
    -> Result<(), Unavailable>;

    /// Returns chunks whose points are to be removed from the vector store.
    async fn list_removed(&self, limit: usize) -> Result<Vec<ChunkId>, Unavailable>;

    /// Removes chunks from that queue.
    async fn forget_removed(&self, chunks: &[ChunkId]) -> Result<(), Unavailable>;

    /// Returns the ids of published chunks, of this base or of all, in ascending
    /// order after this one.
    async fn list_published(
        &self,
        base: Option<KnowledgeBaseId>,
        after: Option<ChunkId>,
        limit: usize,
    ) -> Result<Vec<ChunkId>, Unavailable>;

    /// Loads published chunks as they are indexed. Others are left out.
    async fn load_indexed(&self, chunks: &[ChunkId]) -> Result<Vec<IndexedChunk>, Unavailable>;

    /// Returns those of these chunks that the database has, published or not.
    async fn existing(&self, chunks: &[ChunkId]) -> Result<Vec<ChunkId>, Unavailable>;
}

/// Id of a chunk, and of its point in the vector store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkId(pub Uuid);

impl ChunkId {
    /// Returns a new id.
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }
}

impl fmt::Display for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Chunk with its vector, as it is indexed.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexedChunk {
    /// Id, also that of its point.
    pub id: ChunkId,
    /// Base of its document, which scopes searches.
    pub base: KnowledgeBaseId,
    /// Title of the document.
    pub title: String,
    /// Headings above the chunk.
    pub path: String,
    /// Text, without headings and context.
    pub text: String,
    /// Context; empty without one.
    pub context: String,
    /// Vector of [`VECTOR_SIZE`](crate::VECTOR_SIZE) numbers, of length 1.
    pub dense: Vec<f32>,
}

/// Published chunk with its document.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredPassage {
    /// Id of the chunk, which the vector store returned.
    pub chunk: ChunkId,
    /// Base of its document, to be compared with those of the question.
    pub base: KnowledgeBaseId,
    /// Document that is cited.
    pub document: DocumentId,
    /// Title of the document.
    pub title: String,
    /// Source of the document; `None` if it has none.
    pub source_uri: Option<String>,
    /// Position in the document, from 0.
    pub ordinal: i32,
    /// Headings above the chunk.
    pub path: String,
    /// Text, without headings and context.
    pub text: String,
    /// Text of the chunk before it, if it has the same headings.
    pub before: Option<String>,
    /// Text of the chunk after it, if it has the same headings.
    pub after: Option<String>,
    /// Vector, to be compared with that of the question.
    pub dense: Vec<f32>,
}
