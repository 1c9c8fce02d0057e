//! Vector store within this process.
//!
//! The engine is Qdrant Edge. Its calls block, and so run on blocking threads
//! (`run`). Read `shard.rs` next: it makes changes durable and limits the log.

mod config;
mod lock;
mod request;
mod shard;
mod wal;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use pia_kernel::Unavailable;
use pia_knowledge::{ChunkId, FoundChunk, VectorPoint, VectorQuery, VectorStore};
use qdrant_edge::OperationError;

use crate::layout::{first_after, is_empty, unavailable};
use crate::setup_error::VectorSetupError;
use shard::Shard;

/// Vector store within this process.
///
/// Searches compare a question with every vector of its bases, so searches are
/// exact, and take time in proportion to the number of vectors: 6 ms for 10,000 points, and some
/// 100 ms for 100,000.
pub struct EmbeddedVectors {
    shard: Arc<Shard>,
}

impl EmbeddedVectors {
    /// Opens the store of a folder, which is created if it is missing. Fails if
    /// another process uses the folder for the next three seconds. Blocks.
    pub fn open(folder: &Path) -> Result<Self, VectorSetupError> {
        Shard::open(folder).map(|it| Self { shard: Arc::new(it) })
    }

    /// Runs blocking work on a thread of its own. Panics of the engine, for example
    /// for a full disk, are errors.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shard) -> Result<T, OperationError> + Send + 'static,
    ) -> Result<T, Unavailable> {
        let shard = Arc::clone(&self.shard);
        tokio::task::spawn_blocking(move || work(&shard))
            .await
            .map_err(unavailable)?
            .map_err(unavailable)
    }
}

#[async_trait]
impl VectorStore for EmbeddedVectors {
    async fn put(&self, points: Vec<VectorPoint>) -> Result<(), Unavailable> {
        if points.is_empty() {
            return Ok(());
        }
        self.run(move |shard| shard.write(points.len(), request::upsert(points)?)).await
    }

    async fn delete(&self, chunks: &[ChunkId]) -> Result<(), Unavailable> {
        if chunks.is_empty() {
            return Ok(());
        }
        let count = chunks.len();
        let deletion = request::delete(chunks);
        self.run(move |shard| shard.write(count, deletion)).await
    }

    async fn search(&self, query: VectorQuery) -> Result<Vec<FoundChunk>, Unavailable> {
        if is_empty(&query) {
            return Ok(Vec::new());
        }
        self.run(move |shard| {
            let request = request::search(query)?;
            let points = shard.read(|edge| edge.query(request))?;
            points.iter().map(request::found_chunk).collect()
        })
        .await
    }

    async fn existing(&self, chunks: &[ChunkId]) -> Result<Vec<ChunkId>, Unavailable> {
        let ids = request::ids(chunks);
        self.run(move |shard| {
            let points =
                shard.read(|edge| edge.retrieve(&ids, Some(false.into()), Some(false.into())))?;
            points.iter().map(|it| request::chunk(it.id)).collect()
        })
        .await
    }

    async fn list(
        &self,
        after: Option<ChunkId>,
        limit: usize,
    ) -> Result<Vec<ChunkId>, Unavailable> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let Some(first) = first_after(after) else { return Ok(Vec::new()) };
        self.run(move |shard| {
            let (page, _next) = shard.read(|edge| edge.scroll(request::page(first, limit)))?;
            page.iter().map(|it| request::chunk(it.id)).collect()
        })
        .await
    }
}
