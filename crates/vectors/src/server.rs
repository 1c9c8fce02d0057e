//! Vector store on a Qdrant server.

mod call;
mod collection;
mod request;

use std::time::Duration;

use async_trait::async_trait;
use pia_kernel::Unavailable;
use pia_knowledge::{ChunkId, FoundChunk, VectorPoint, VectorQuery, VectorStore};
use qdrant_client::Qdrant;

use crate::layout::{first_after, unavailable};
use crate::setup_error::VectorSetupError;
use crate::target::ServerTarget;
use call::{CallError, READ_TIMEOUT, WRITE_TIMEOUT, within};

/// Duration after which a connection has failed.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Vector store on a Qdrant server, for any number of instances.
pub struct ServerVectors {
    client: Qdrant,
}

impl ServerVectors {
    /// Connects to a server, and creates what is missing there.
    pub async fn connect(target: &ServerTarget) -> Result<Self, VectorSetupError> {
        // Checked, the version of the server would be printed.
        let client = Qdrant::from_url(&target.endpoint)
            .api_key(target.key.as_ref().map(|it| it.expose().as_str()))
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(WRITE_TIMEOUT)
            .skip_compatibility_check()
            .build()
            .map_err(CallError::from)?;
        collection::set_up(&client).await?;
        Ok(Self { client })
    }
}

#[async_trait]
impl VectorStore for ServerVectors {
    async fn put(&self, points: Vec<VectorPoint>) -> Result<(), Unavailable> {
        if points.is_empty() {
            return Ok(());
        }
        let upsert = self.client.upsert_points(request::upsert(points));
        within(WRITE_TIMEOUT, upsert).await.map(drop).map_err(unavailable)
    }

    async fn delete(&self, chunks: &[ChunkId]) -> Result<(), Unavailable> {
        if chunks.is_empty() {
            return Ok(());
        }
        let deletion = self.client.delete_points(request::delete(chunks));
        within(WRITE_TIMEOUT, deletion).await.map(drop).map_err(unavailable)
    }

    async fn search(&self, query: VectorQuery) -> Result<Vec<FoundChunk>, Unavailable> {
        if query.bases.is_empty() || query.limit == 0 {
            return Ok(Vec::new());
        }
        let search = self.client.query(request::search(query));
        let found = within(READ_TIMEOUT, search).await.map_err(unavailable)?;
        found.result.into_iter().map(request::found).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn existing(&self, chunks: &[ChunkId]) -> Result<Vec<ChunkId>, Unavailable> {
        if chunks.is_empty() {
            return Ok(Vec::new());
        }
        let stored = self.client.get_points(request::get(chunks));
        let stored = within(READ_TIMEOUT, stored).await.map_err(unavailable)?;
        request::chunks(stored.result).map_err(unavailable)
    }

    async fn list(
        &self,
        after: Option<ChunkId>,
        limit: usize,
    ) -> Result<Vec<ChunkId>, Unavailable> {
        let Some(first) = first_after(after).filter(|_| limit > 0) else {
            return Ok(Vec::new());
        };
        let page = self.client.scroll(request::page(first, limit));
        let page = within(READ_TIMEOUT, page).await.map_err(unavailable)?;
        request::chunks(page.result).map_err(unavailable)
    }
}
