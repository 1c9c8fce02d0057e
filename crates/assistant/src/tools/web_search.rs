//! Searching the web.

use async_trait::async_trait;
use pia_kernel::Secret;

use crate::ports::UpstreamError;
use crate::routing::catalogue::SearchProvider;

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchResult {
    /// Title of the page.
    pub title: String,
    /// Address of the page: an `http` or `https` URL.
    pub url: String,
    /// Text of the page, or the relevant part of it.
    pub text: String,
}

/// Services that search the web.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait WebSearch: Send + Sync {
    /// Searches the web for `query`, the best result first, with `key`, which
    /// is empty where none is needed. The response is bounded, and so is the
    /// time. Dropping the future ends it.
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
