//! Rerankers of providers, as knowledge bases use them.

use std::time::Duration;

use async_trait::async_trait;
use pia_assistant::BackgroundReranking;
use pia_knowledge::{EmbedError, Reranker};

use super::embedder::{to_embed_error, unavailable};

/// Reranker of a provider.
pub(crate) struct ProviderReranker {
    pub(crate) reranking: BackgroundReranking,
    pub(crate) timeout: Duration,
}

#[async_trait]
impl Reranker for ProviderReranker {
    async fn rank(&self, question: &str, texts: Vec<String>) -> Result<Vec<f32>, EmbedError> {
        let call = self.reranking.rank(question, &texts);
        match tokio::time::timeout(self.timeout, call).await {
            Ok(ranked) => ranked.map_err(|err| to_embed_error(&err)),
            Err(_elapsed) => Err(unavailable("it did not answer in time", None)),
        }
    }
}
