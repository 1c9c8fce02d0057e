//! Ranking of texts that the server requests for itself, which no caller pays
//! for.

use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;

use crate::error::AssistantError;
use crate::gateway::Gateway;
use crate::ports::ModelCall;
use crate::request::sample::PromptText;
use crate::routing::target::Target;
use crate::single_call::BackgroundPurpose;

/// Ranking of texts by a model, under the upstream's protection.
#[derive(Clone)]
pub struct BackgroundReranking {
    gateway: Gateway,
    target: Arc<Target>,
}

/// Response in the format of Cohere's and Jina's rerankers; other members are
/// ignored.
#[derive(Deserialize)]
struct Response {
    results: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: usize,
    relevance_score: f32,
}

impl BackgroundReranking {
    /// Creates a ranking by this model.
    pub fn new(gateway: Gateway, target: Arc<Target>) -> Self {
        Self { gateway, target }
    }

    /// Returns a score for each text, in the order of the texts; higher is
    /// better.
    pub async fn rank(&self, question: &str, texts: &[String]) -> Result<Vec<f32>, AssistantError> {
        let gateway = &self.gateway;
        let target = &self.target;
        let words: Vec<&str> = texts.iter().map(String::as_str).chain([question]).collect();
        let estimate = PromptText::from_words(&words).estimate();
        let _permit = gateway
            .acquire_background_permit(target, BackgroundPurpose::Question, estimate)
            .await?;

        let body = request_body(question, texts);
        let send = |key| {
            let target = Arc::clone(target);
            let body = body.clone();
            gateway.upstream.rerank(ModelCall { target, key, body })
        };
        let outcome = gateway.call_with_keys(target, send).await;
        let response = outcome.map_err(|failure| failure.error)?;

        parse(&response, texts.len()).ok_or_else(|| {
            tracing::warn!(upstream.model = target.model, "upstream response has no ranking");
            AssistantError::UpstreamFailed
        })
    }
}

/// Formats a request without the closing brace, before which the adapter adds the model.
fn request_body(question: &str, texts: &[String]) -> Bytes {
    let query = json!(question);
    let documents = json!(texts);
    // Servers may return fewer results without `top_n`.
    let count = texts.len();
    Bytes::from(format!(r#"{{"query":{query},"documents":{documents},"top_n":{count}"#))
}

/// Returns the scores of a response in the order of the texts; `None` unless it
/// has exactly one for each.
fn parse(body: &[u8], count: usize) -> Option<Vec<f32>> {
    let Response { mut results } = serde_json::from_slice(body).ok()?;
    results.sort_by_key(|it| it.index);
    let is_complete = results.iter().map(|it| it.index).eq(0..count);
    let is_finite = results.iter().all(|it| it.relevance_score.is_finite());
    if !is_complete || !is_finite {
        return None;
    }
    Some(results.into_iter().map(|it| it.relevance_score).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fakes::{Script, TestEnv, target};
    use crate::ports::UpstreamError;

    #[test]
    fn scores_are_returned_in_the_order_of_the_texts() {
        let body = br#"{"id":"r1","model":"m","usage":{"total_tokens":9},"results":[
            {"index":1,"document":{"text":"b"},"relevance_score":0.9},
            {"index":0,"document":{"text":"a"},"relevance_score":-2}]}"#;
        assert_eq!(parse(body, 2), Some(vec![-2.0, 0.9]));
    }

    #[test]
    fn a_response_without_one_score_for_each_text_is_refused() {
        let one = r#"{"index":0,"relevance_score":0.5}"#;
        for results in [
            String::new(),
            one.to_owned(),
            format!("{one},{one}"),
            format!(r#"{one},{{"index":2,"relevance_score":0.5}}"#),
            format!(r#"{one},{{"index":-1,"relevance_score":0.5}}"#),
            format!(r#"{one},{{"index":1}}"#),
            format!(r#"{one},{{"index":1,"relevance_score":null}}"#),
            format!(r#"{one},{{"index":1,"relevance_score":NaN}}"#),
            format!(r#"{one},{{"index":1,"relevance_score":1e39}}"#),
            format!(r#"{one},{{"index":1,"relevance_score":"0.5"}}"#),
            format!(r#"{one},{one},{{"index":1,"relevance_score":0.5}}"#),
        ] {
            let body = format!(r#"{{"results":[{results}]}}"#);
            assert_eq!(parse(body.as_bytes(), 2), None, "{body}");
        }
        assert_eq!(parse(b"[]", 0), None);
    }

    #[tokio::test]
    async fn question_and_texts_are_sent_with_one_key_after_the_other() {
        let refusal = UpstreamError::Refused { status: 429, retry_after: None, body: Bytes::new() };
        let answer = r#"{"results":[{"index":0,"relevance_score":1}]}"#;
        let env = TestEnv::with_scripts(vec![Script::Fails(refusal), Script::Full(answer)]);
        let target = Target::clone(&target("reranker")).with_key("second");
        let reranking = BackgroundReranking::new(env.gateway(), Arc::new(target));

        let scores = reranking.rank("Why?", &["a {text}".to_owned()]).await;

        assert!(matches!(scores.as_deref(), Ok([_one])), "{scores:?}");
        assert_eq!(env.calls().len(), 2);
        let sent_body = r#"{"query":"Why?","documents":["a {text}"],"top_n":1"#;
        assert_eq!(env.call().body.concat(), sent_body.as_bytes());
    }
}
