//! Searching the web.

use async_trait::async_trait;
use pia_kernel::Secret;

use crate::catalogue::SearchProvider;
use crate::ports::UpstreamError;

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchResult {
    /// What it is called.
    pub title: String,
    /// Where it is: an `http` or `https` address.
    pub url: String,
    /// What it says, or the part of it that matters.
    pub text: String,
}

/// Services that search the web.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait WebSearch: Send + Sync {
    /// What there is about `query`, the best first, asked for with `key`, which
    /// is empty where none is wanted. How much is read of it is bounded, and so
    /// is how long it takes. Dropping the future ends it.
    async fn search(
        &self,
        provider: &SearchProvider,
        key: &Secret<String>,
        query: &str,
    ) -> Result<Vec<SearchResult>, UpstreamError>;
}

/// A server that finds nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSearch;

#[async_trait]
impl WebSearch for NoSearch {
    async fn search(
        &self,
        _provider: &SearchProvider,
        _key: &Secret<String>,
        _query: &str,
    ) -> Result<Vec<SearchResult>, UpstreamError> {
        Ok(Vec::new())
    }
}
