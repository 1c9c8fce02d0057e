//! Embedding of texts.

use std::time::Duration;

use async_trait::async_trait;

/// Number of dimensions of every dense vector.
pub const VECTOR_SIZE: usize = 1024;

/// Vectors of some texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    /// One vector of [`VECTOR_SIZE`] numbers for each text, of length 1.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens that were embedded.
    pub tokens: i64,
}

/// Reasons why texts were not embedded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// Provider cannot embed at present.
    #[error("the embedding provider is unavailable: {reason}")]
    Unavailable {
        /// Reason, without anything that the provider answered.
        reason: String,
        /// Delay that the provider requested.
        retry_after: Option<Duration>,
    },
    /// Provider rejects the request and would reject it again.
    #[error("the embedding provider rejected the request: {0}")]
    Rejected(String),
}

/// Model that embeds texts.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Maximum number of texts in one call.
    fn batch_size(&self) -> usize;

    /// Cosine similarity of a question and a text below which they are
    /// unrelated.
    fn min_similarity(&self) -> f32;

    /// Embeds texts, at most [`batch_size`](Self::batch_size) of them.
    async fn embed(&self, texts: Vec<String>) -> Result<Embedding, EmbedError>;
}
