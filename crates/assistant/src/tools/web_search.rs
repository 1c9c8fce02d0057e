//! Port of web searches.
//!
//! `upstream/src/linkup.rs` implements it. `searching.rs` adds keys, limits and retries.

use async_trait::async_trait;
use pia_kernel::Secret;

use crate::ports::UpstreamError;
use crate::routing::catalogue::SearchProvider;

/// Services that search the web.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait WebSearch: Send + Sync {
    /// Searches the web for `query` with `key`, which is empty if none is
    /// required. The best result is the first. Response size and time are
    /// limited. Dropping the future ends the search.
    async fn search(
        &self,
        provider: &SearchProvider,
        key: &Secret<String>,
        query: &str,
    ) -> Result<Vec<SearchResult>, UpstreamError>;
}

/// Result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchResult {
    /// Title of the page.
    pub title: String,
    /// Address of the page: an `http` or `https` URL.
    pub url: String,
    /// Text of the page, or the relevant part of it.
    pub text: String,
}

/// Search of a server without a search provider.
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
