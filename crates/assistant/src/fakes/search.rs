//! Web search in memory.

use async_trait::async_trait;
use pia_kernel::Secret;

use super::TestEnv;
use crate::ports::UpstreamError;
use crate::routing::catalogue::SearchProvider;
use crate::tools::web_search::{SearchResult, WebSearch};

#[async_trait]
impl WebSearch for TestEnv {
    async fn search(
        &self,
        _provider: &SearchProvider,
        key: &Secret<String>,
        query: &str,
    ) -> Result<Vec<SearchResult>, UpstreamError> {
        self.0.searches.lock().unwrap().push((query.to_owned(), key.expose().clone()));
        match self.0.search_errors.lock().unwrap().pop_front() {
            Some(err) => Err(err),
            None => self.0.search_results.lock().unwrap().clone(),
        }
    }
}
