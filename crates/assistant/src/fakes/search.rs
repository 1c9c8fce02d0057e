//! Web search in memory.

use async_trait::async_trait;
use pia_kernel::Secret;

use super::TestEnv;
use crate::ports::UpstreamError;
use crate::routing::catalogue::SearchProvider;
use crate::tools::web_search::{SearchResult, WebSearch};

/// Recorded web search.
#[derive(Debug, Clone)]
pub(crate) struct RecordedSearch {
    pub(crate) query: String,
    pub(crate) key: String,
}

#[async_trait]
impl WebSearch for TestEnv {
    async fn search(
        &self,
        _provider: &SearchProvider,
        key: &Secret<String>,
        query: &str,
    ) -> Result<Vec<SearchResult>, UpstreamError> {
        let search = RecordedSearch { query: query.to_owned(), key: key.expose().clone() };
        self.0.searches.lock().unwrap().push(search);
        match self.0.search_errors.lock().unwrap().pop_front() {
            Some(err) => Err(err),
            None => self.0.search_results.lock().unwrap().clone(),
        }
    }
}
