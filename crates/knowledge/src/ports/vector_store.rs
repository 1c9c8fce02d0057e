//! Port of the vectors that searches compare; implemented in `vectors`.
//!
//! The store is an index, and never the only copy of anything: `reconciliation.rs`
//! rebuilds it from the database.

use async_trait::async_trait;
use pia_kernel::{KnowledgeBaseId, Unavailable};

use super::chunk_store::ChunkId;
use crate::terms::TermWeight;

/// Store of vectors. Its methods may be repeated: a point that is stored twice
/// exists once.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait VectorStore: Send + Sync {
    /// Stores points. Searches find them once this returns, also after a crash.
    async fn put(&self, points: Vec<VectorPoint>) -> Result<(), Unavailable>;

    /// Deletes points. Searches do not find them once this returns; unknown ids
    /// are ignored.
    async fn delete(&self, chunks: &[ChunkId]) -> Result<(), Unavailable>;

    /// Finds the best chunks, best first: those closest to the dense vector and
    /// those with the best terms, fused by their reciprocal ranks.
    async fn search(&self, query: VectorQuery) -> Result<Vec<FoundChunk>, Unavailable>;

    /// Returns those of the chunks that are stored.
    async fn existing(&self, chunks: &[ChunkId]) -> Result<Vec<ChunkId>, Unavailable>;

    /// Returns up to `limit` ids that are stored, in ascending order, after
    /// this one.
    async fn list(&self, after: Option<ChunkId>, limit: usize)
    -> Result<Vec<ChunkId>, Unavailable>;
}

/// Point of a chunk. The text stays in the database.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorPoint {
    /// Id of the chunk, which is that of the point.
    pub chunk: ChunkId,
    /// Base that scopes searches.
    pub base: KnowledgeBaseId,
    /// Dense vector of [`VECTOR_SIZE`](crate::VECTOR_SIZE) numbers, of length 1.
    pub dense: Vec<f32>,
    /// Terms of the text. The store multiplies their weights by the inverse
    /// document frequency.
    pub terms: Vec<TermWeight>,
}

/// Search for chunks of some bases.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorQuery {
    /// Bases to search; nothing outside of them is found.
    pub bases: Vec<KnowledgeBaseId>,
    /// Dense vector of the question; an empty one compares terms alone.
    pub dense: Vec<f32>,
    /// Terms of the question; without any, only dense vectors are compared.
    pub terms: Vec<TermWeight>,
    /// Maximum number of chunks.
    pub limit: usize,
}

/// Chunk that a search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FoundChunk {
    /// Id of the chunk, which the database may no longer have.
    pub chunk: ChunkId,
    /// Score of the fused ranks; higher is better. Scores of different searches
    /// cannot be compared.
    pub score: f32,
}
