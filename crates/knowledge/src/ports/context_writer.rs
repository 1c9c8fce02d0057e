//! Port of the model that writes contexts of chunks; implemented in `server` over `assistant`.

use async_trait::async_trait;

use super::embedder::EmbedError;

/// Model that writes the contexts of chunks.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait ContextWriter: Send + Sync {
    /// Writes the context of a chunk.
    async fn write(&self, request: ContextRequest) -> Result<WrittenContext, EmbedError>;
}

/// Chunk that needs a context, and what surrounds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextRequest {
    /// Title of the document.
    pub title: String,
    /// Beginning of the document, up to a few thousand characters.
    pub beginning: String,
    /// Text of the chunk before it; empty if that is not at hand.
    pub before: String,
    /// Text of the chunk.
    pub chunk: String,
    /// Text of the chunk after it; empty if that is not at hand.
    pub after: String,
}

impl ContextRequest {
    /// Returns the length of all texts, in bytes.
    pub(crate) fn len(&self) -> usize {
        let texts = [&self.title, &self.beginning, &self.before, &self.chunk, &self.after];
        texts.into_iter().map(String::len).sum()
    }
}

/// Context of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenContext {
    /// One or two sentences that say what the chunk is about; empty if the model
    /// wrote none.
    pub text: String,
    /// Tokens of the call, which the owner of the base is charged.
    pub tokens: i64,
}
