//! Port of the model that ranks texts; implemented in `server` over `assistant`.

use async_trait::async_trait;

use super::embedder::EmbedError;

/// Model that ranks texts by how well they answer a question.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait Reranker: Send + Sync {
    /// Returns a score for each text, in the order of the texts; higher is
    /// better. Callers wait for it: it fails soon rather than late.
    async fn rank(&self, question: &str, texts: Vec<String>) -> Result<Vec<f32>, EmbedError>;
}
