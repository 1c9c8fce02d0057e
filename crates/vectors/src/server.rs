//! Vector store on a Qdrant server.
//!
//! `new` does not connect. Every call goes through `client`, which sets the server up
//! once per process and tries again after a failure.

mod call;
mod collection;
mod request;

use std::time::Duration;

use async_trait::async_trait;
use pia_kernel::{Secret, Unavailable};
use pia_knowledge::{ChunkId, FoundChunk, VectorPoint, VectorQuery, VectorStore};
use qdrant_client::Qdrant;
use tokio::sync::OnceCell;

use crate::layout::{first_after, is_empty, unavailable};
use crate::setup_error::VectorSetupError;
use call::{CallError, READ_TIMEOUT, WRITE_TIMEOUT, within};

/// Duration after which a connection has failed.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Vector store on a Qdrant server, for any number of instances.
pub struct ServerVectors {
    client: Qdrant,
    is_set_up: OnceCell<()>,
}

impl ServerVectors {
    /// Creates a store on the gRPC port of a server, with the API key of the server if
    /// there is one. The server need not run yet: the first call creates what is missing.
    pub fn new(endpoint: &str, key: Option<&Secret<String>>) -> Result<Self, VectorSetupError> {
        // The compatibility check would print the version of the server.
        let client = Qdrant::from_url(endpoint)
            .api_key(key.map(|it| it.expose().as_str()))
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(WRITE_TIMEOUT)
            .skip_compatibility_check()
            .build()
            .map_err(CallError::from)?;
        Ok(Self { client, is_set_up: OnceCell::new() })
    }

    /// Creates what is missing on the server. Done once.
    pub async fn set_up(&self) -> Result<(), VectorSetupError> {
        self.is_set_up.get_or_try_init(|| collection::set_up(&self.client)).await?;
        Ok(())
    }

    /// Returns the client of a server that is set up.
    async fn client(&self) -> Result<&Qdrant, Unavailable> {
        self.set_up().await.map_err(unavailable)?;
        Ok(&self.client)
    }
}

#[async_trait]
impl VectorStore for ServerVectors {
    async fn put(&self, points: Vec<VectorPoint>) -> Result<(), Unavailable> {
        if points.is_empty() {
            return Ok(());
        }
        let upsert = self.client().await?.upsert_points(request::upsert(points));
        within(WRITE_TIMEOUT, upsert).await.map(drop).map_err(unavailable)
    }

    async fn delete(&self, chunks: &[ChunkId]) -> Result<(), Unavailable> {
        if chunks.is_empty() {
            return Ok(());
        }
        let deletion = self.client().await?.delete_points(request::delete(chunks));
        within(WRITE_TIMEOUT, deletion).await.map(drop).map_err(unavailable)
    }

    async fn search(&self, query: VectorQuery) -> Result<Vec<FoundChunk>, Unavailable> {
        if is_empty(&query) {
            return Ok(Vec::new());
        }
        let search = self.client().await?.query(request::search(query));
        let answer = within(READ_TIMEOUT, search).await.map_err(unavailable)?;
        request::found_chunks(answer.result).map_err(unavailable)
    }

    async fn existing(&self, chunks: &[ChunkId]) -> Result<Vec<ChunkId>, Unavailable> {
        if chunks.is_empty() {
            return Ok(Vec::new());
        }
        let loading = self.client().await?.get_points(request::get(chunks));
        let answer = within(READ_TIMEOUT, loading).await.map_err(unavailable)?;
        request::chunks(answer.result).map_err(unavailable)
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
        let scroll = self.client().await?.scroll(request::page(first, limit));
        let answer = within(READ_TIMEOUT, scroll).await.map_err(unavailable)?;
        request::chunks(answer.result).map_err(unavailable)
    }
}
