//! Web search through Linkup.
//!
//! `assistant/src/tools/searching.rs` chooses the entry and the key. Results come from
//! arbitrary pages, so their number, lengths and URLs are limited here.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::header;
use pia_assistant::{SearchProvider, SearchResult, UpstreamError, WebSearch};
use pia_kernel::Secret;
use serde::Deserialize;
use serde_json::json;
use tokio::time::timeout;

use crate::client::{JSON, Upstream, read_full};
use crate::dialect::bearer;
use crate::refusal::{read_refusal, unreachable_error};

/// Timeout of a search: enough for a deep one, and no more than a waiting
/// caller accepts.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(90);
/// Maximum length of a response in bytes.
const MAX_RESPONSE_BYTES: usize = 4 * 1024 * 1024;
/// Maximum number of results requested and used.
const MAX_RESULTS: usize = 10;
/// Maximum length of a query, in characters.
const MAX_QUERY_CHARS: usize = 2000;
/// Maximum length of a result's title, in characters.
const MAX_TITLE_CHARS: usize = 200;
/// Maximum length of a result's text, in characters.
const MAX_TEXT_CHARS: usize = 4000;

/// Maximum length of a result's URL, in bytes.
const MAX_URL_BYTES: usize = 2048;

/// Code of Linkup's response without results.
const NOTHING_FOUND: &str = "SEARCH_QUERY_NO_RESULT";

#[async_trait]
impl WebSearch for Upstream {
    async fn search(
        &self,
        provider: &SearchProvider,
        key: &Secret<String>,
        query: &str,
    ) -> Result<Vec<SearchResult>, UpstreamError> {
        let limits = self.limits();
        let limit = SEARCH_TIMEOUT.min(limits.answer);
        timeout(limit, async {
            match self.request_linkup(provider, key, query).await {
                Err(err) if is_empty_result(&err) => Ok(Vec::new()),
                answer => parse_results(&answer?),
            }
        })
        .await
        .map_err(|_elapsed| UpstreamError::Silent)?
    }
}

impl Upstream {
    async fn request_linkup(
        &self,
        provider: &SearchProvider,
        key: &Secret<String>,
        query: &str,
    ) -> Result<Bytes, UpstreamError> {
        let limits = self.limits();
        let query: String = query.chars().take(MAX_QUERY_CHARS).collect();
        let body = json!({
            "q": query,
            "depth": provider.depth.name(),
            "outputType": "searchResults",
            "includeImages": false,
            "maxResults": MAX_RESULTS,
        });

        let response = self
            .http()
            .post(format!("{}/search", provider.endpoint.trim_end_matches('/')))
            .headers(bearer(key)?)
            .header(header::CONTENT_TYPE, JSON)
            .header(header::ACCEPT, JSON)
            .body(body.to_string())
            .send()
            .await
            .map_err(unreachable_error)?;

        if !response.status().is_success() {
            return Err(read_refusal(response, limits.max_refusal).await);
        }

        read_full(response, MAX_RESPONSE_BYTES.min(limits.max_answer)).await
    }
}

#[derive(Deserialize)]
struct SearchResponse {
    results: Vec<SearchHit>,
}

#[derive(Deserialize)]
struct SearchHit {
    #[serde(default)]
    name: String,
    #[serde(default)]
    url: String,
    #[serde(default)]
    content: String,
}

/// Parses the results, without those that have no URL or no text, such as
/// images.
fn parse_results(answer: &[u8]) -> Result<Vec<SearchResult>, UpstreamError> {
    let response: SearchResponse =
        serde_json::from_slice(answer).map_err(|_invalid| UpstreamError::Malformed)?;
    Ok(response.results.into_iter().filter_map(SearchHit::into_result).take(MAX_RESULTS).collect())
}

impl SearchHit {
    fn into_result(self) -> Option<SearchResult> {
        let is_web = self.url.starts_with("https://") || self.url.starts_with("http://");
        let is_plain = self.url.len() <= MAX_URL_BYTES && !self.url.contains(char::is_control);
        let text = truncate_chars(self.content.trim(), MAX_TEXT_CHARS);
        if !is_web || !is_plain || text.is_empty() {
            return None;
        }
        let words: Vec<&str> = self.name.split_whitespace().collect();
        let title = if words.is_empty() {
            self.url.clone()
        } else {
            truncate_chars(&words.join(" "), MAX_TITLE_CHARS)
        };
        Some(SearchResult { title, url: self.url, text })
    }
}

/// Truncates a text to this many characters, with an ellipsis.
fn truncate_chars(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}\u{2026}", text.get(..end).unwrap_or_default().trim_end()),
        None => text.to_owned(),
    }
}

fn is_empty_result(err: &UpstreamError) -> bool {
    #[derive(Deserialize)]
    struct Refusal {
        error: Code,
    }
    #[derive(Deserialize)]
    struct Code {
        code: String,
    }
    let UpstreamError::Refused { status: 400, body, .. } = err else { return false };
    serde_json::from_slice::<Refusal>(body).is_ok_and(|it| it.error.code == NOTHING_FOUND)
}

#[cfg(test)]
#[path = "linkup_tests.rs"]
mod tests;
