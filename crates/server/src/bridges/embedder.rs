//! Embedding models of providers, as knowledge bases use them.
//!
//! `to_embed_error` separates errors of the text, after which a document fails, from
//! those of the provider, after which the ingestion tries again; the reranker and
//! the writer of contexts use it too.

use std::time::Duration;

use async_trait::async_trait;
use pia_assistant::{AssistantError, BackgroundEmbeddings};
use pia_knowledge::{EmbedError, Embedder, Embedding, VECTOR_SIZE};

/// Cosine similarity below which texts are unrelated, for the usual models.
const MIN_SIMILARITY: f32 = 0.4;
/// Beginning of the names of models whose vectors can be shortened to the size
/// that is stored.
const SHORTENED: &str = "text-embedding-3";

/// Embedding model of a provider.
pub(crate) struct ProviderEmbedder {
    pub(crate) embeddings: BackgroundEmbeddings,
    /// Name of the model.
    pub(crate) model: String,
    pub(crate) timeout: Duration,
    pub(crate) batch_size: usize,
}

#[async_trait]
impl Embedder for ProviderEmbedder {
    fn model(&self) -> String {
        self.model.clone()
    }

    fn batch_size(&self) -> usize {
        self.batch_size
    }

    fn min_similarity(&self) -> f32 {
        MIN_SIMILARITY
    }

    async fn embed(&self, model: &str, texts: Vec<String>) -> Result<Embedding, EmbedError> {
        let embeddings = self.embeddings.by_model(model);
        let call = embeddings.embed(&texts, dimensions(model));
        match tokio::time::timeout(self.timeout, call).await {
            Ok(Ok(reply)) => Ok(Embedding { vectors: reply.vectors, tokens: reply.tokens }),
            Ok(Err(err)) => Err(to_embed_error(&err)),
            Err(_elapsed) => Err(unavailable("it did not answer in time", None)),
        }
    }
}

/// Returns the dimensions to request of a model, which some providers name after
/// its vendor: `openai/text-embedding-3-large`.
fn dimensions(model: &str) -> Option<usize> {
    let name = model.rsplit('/').next().unwrap_or_default();
    name.starts_with(SHORTENED).then_some(VECTOR_SIZE)
}

pub(super) fn unavailable(reason: &str, retry_after: Option<Duration>) -> EmbedError {
    EmbedError::Unavailable { reason: reason.to_owned(), retry_after }
}

pub(super) fn to_embed_error(err: &AssistantError) -> EmbedError {
    match err {
        AssistantError::UpstreamBusy { retry_after }
        | AssistantError::UpstreamLimitReached { retry_after } => {
            unavailable("it is busy", Some(*retry_after))
        }
        AssistantError::ContextTooLong => {
            EmbedError::Rejected("a chunk is too long for its model".to_owned())
        }
        AssistantError::UpstreamRefused => EmbedError::Rejected("it refused the text".to_owned()),
        err => unavailable(&err.to_string(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_models_that_can_shorten_them_are_shortened() {
        for model in ["text-embedding-3-small", "openai/text-embedding-3-large"] {
            assert_eq!(dimensions(model), Some(1024), "{model}");
        }
        for model in ["bge-m3", "text-embedding-3/other", "baai/bge-m3", ""] {
            assert_eq!(dimensions(model), None, "{model}");
        }
    }

    #[test]
    fn only_what_may_pass_is_an_outage() {
        let is_outage =
            |it: &AssistantError| matches!(to_embed_error(it), EmbedError::Unavailable { .. });
        let retry_after = Duration::from_secs(7);

        assert!(is_outage(&AssistantError::UpstreamBusy { retry_after }));
        assert!(is_outage(&AssistantError::UpstreamFailed));
        assert!(!is_outage(&AssistantError::ContextTooLong));
        assert!(!is_outage(&AssistantError::UpstreamRefused));
    }
}
