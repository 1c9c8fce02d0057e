//! Reconciliation of the vector store with the database.

use std::collections::HashSet;
use std::sync::Arc;

use pia_kernel::Unavailable;

use crate::ingestion::point;
use crate::ports::chunk_store::{ChunkId, ChunkStore};
use crate::ports::vector_store::VectorStore;

/// Number of chunks that are compared at once.
const CHUNKS_PER_STEP: usize = 500;

/// Numbers of points that a sweep repaired.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Points of published chunks that were missing.
    pub restored: usize,
    /// Points without a chunk.
    pub deleted: usize,
}

/// Makes the vector store agree with the database, which is always right.
#[derive(Clone)]
pub struct Reconciliation {
    /// Chunks in the database.
    pub chunks: Arc<dyn ChunkStore>,
    /// Points in the vector store.
    pub vectors: Arc<dyn VectorStore>,
}

impl Reconciliation {
    /// Deletes the points of chunks that were deleted or replaced. Returns their
    /// number.
    pub async fn delete_removed(&self) -> Result<usize, Unavailable> {
        let mut count = 0;
        loop {
            let removed = self.chunks.removed(CHUNKS_PER_STEP).await?;
            if removed.is_empty() {
                return Ok(count);
            }
            self.vectors.delete(&removed).await?;
            self.chunks.forget_removed(&removed).await?;
            count += removed.len();
        }
    }

    /// Compares all chunks with all points: missing points are stored again,
    /// from the vectors in the database, and points without a chunk are deleted.
    pub async fn sweep(&self) -> Result<Repaired, Unavailable> {
        Ok(Repaired { restored: self.restore().await?, deleted: self.delete_unknown().await? })
    }

    async fn restore(&self) -> Result<usize, Unavailable> {
        let (mut after, mut count) = (None, 0);
        loop {
            let chunks = self.chunks.published(after, CHUNKS_PER_STEP).await?;
            let Some(last) = chunks.last() else { return Ok(count) };
            after = Some(last.id);
            let ids: Vec<ChunkId> = chunks.iter().map(|it| it.id).collect();
            let existing = HashSet::<ChunkId>::from_iter(self.vectors.existing(&ids).await?);
            let missing = chunks.into_iter().filter(|it| !existing.contains(&it.id));
            let missing: Vec<_> = missing.map(point).collect();
            if !missing.is_empty() {
                count += missing.len();
                self.vectors.put(missing).await?;
            }
        }
    }

    async fn delete_unknown(&self) -> Result<usize, Unavailable> {
        let (mut after, mut count) = (None, 0);
        loop {
            let stored = self.vectors.list(after, CHUNKS_PER_STEP).await?;
            let Some(last) = stored.last() else { return Ok(count) };
            after = Some(*last);
            let known = HashSet::<ChunkId>::from_iter(self.chunks.existing(&stored).await?);
            let unknown: Vec<_> = stored.into_iter().filter(|it| !known.contains(it)).collect();
            if !unknown.is_empty() {
                count += unknown.len();
                self.vectors.delete(&unknown).await?;
            }
        }
    }
}
