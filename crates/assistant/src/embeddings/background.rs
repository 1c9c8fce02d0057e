//! Embeddings that the server makes for itself, which no caller pays for.
//!
//! Knowledge bases are indexed and searched with them. Tokens count only for the limits of
//! the upstream.

use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;

use super::call;
use crate::error::AssistantError;
use crate::gateway::Gateway;
use crate::request::sample::PromptText;
use crate::routing::target::Target;
use crate::single_call::BackgroundPurpose;

/// Vectors of some texts, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct TextVectors {
    /// One vector for each text.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens that the upstream reports, or an estimate.
    pub tokens: i64,
}

/// Embeddings that the server makes for itself, under the upstream's
/// protection.
#[derive(Clone)]
pub struct BackgroundEmbeddings {
    gateway: Gateway,
    target: Arc<Target>,
    purpose: BackgroundPurpose,
}

/// Response in the format of OpenAI's embeddings.
#[derive(Deserialize)]
struct Response {
    data: Vec<Item>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Item {
    index: usize,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct Usage {
    prompt_tokens: Option<i64>,
}

impl BackgroundEmbeddings {
    /// Creates embeddings by this model.
    pub fn new(gateway: Gateway, target: Arc<Target>, purpose: BackgroundPurpose) -> Self {
        Self { gateway, target, purpose }
    }

    /// Returns embeddings by another model of the same provider.
    #[must_use]
    pub fn by_model(&self, model: &str) -> Self {
        let target = if self.target.model == model {
            Arc::clone(&self.target)
        } else {
            Arc::new(Target { model: model.to_owned(), ..(*self.target).clone() })
        };
        Self { gateway: self.gateway.clone(), target, purpose: self.purpose }
    }

    /// Embeds texts. `dimensions` is sent if the model accepts it.
    pub async fn embed(
        &self,
        texts: &[String],
        dimensions: Option<usize>,
    ) -> Result<TextVectors, AssistantError> {
        let words: Vec<&str> = texts.iter().map(String::as_str).collect();
        let estimate = PromptText::from_words(&words).estimate();
        let _permit =
            self.gateway.acquire_background_permit(&self.target, self.purpose, estimate).await?;
        let mut body = format!("{{\"input\":{},\"encoding_format\":\"float\"", json!(texts));
        if let Some(dimensions) = dimensions {
            // Writing to a string cannot fail.
            let _infallible = write!(body, ",\"dimensions\":{dimensions}");
        }

        let response = call(&self.gateway, &self.target, &Bytes::from(body))
            .await
            .map_err(|failure| failure.error)?;
        parse(&response, texts.len(), estimate).ok_or_else(|| {
            let model = &self.target.model;
            tracing::warn!(upstream.model = model, "upstream response has no embeddings");
            AssistantError::UpstreamFailed
        })
    }
}

/// Returns the vectors of a response in the order of the texts; `None` unless it
/// has one for each.
pub(crate) fn parse(body: &[u8], count: usize, estimate: i64) -> Option<TextVectors> {
    let Response { mut data, usage } = serde_json::from_slice(body).ok()?;
    data.sort_by_key(|it| it.index);
    let is_complete = data.len() == count && data.iter().zip(0..).all(|(it, at)| it.index == at);
    let tokens = usage.and_then(|it| it.prompt_tokens).filter(|it| *it >= 0).unwrap_or(estimate);
    let vectors = data.into_iter().map(|it| it.embedding).collect();
    is_complete.then_some(TextVectors { vectors, tokens })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_returned_in_the_order_of_the_texts() {
        let body = br#"{"data":[{"index":1,"embedding":[2]},{"index":0,"embedding":[1.5]}],
            "usage":{"prompt_tokens":7}}"#;
        let expected = TextVectors { vectors: vec![vec![1.5], vec![2.0]], tokens: 7 };
        assert_eq!(parse(body, 2, 9), Some(expected));
        assert_eq!(parse(br#"{"data":[{"index":0,"embedding":[1]}]}"#, 1, 9).unwrap().tokens, 9);
    }

    #[test]
    fn an_incomplete_response_has_none() {
        for body in [
            r#"{"data":[]}"#,
            r#"{"data":[{"index":1,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":["x"]}]}"#,
            "{}",
        ] {
            assert_eq!(parse(body.as_bytes(), 1, 9), None, "{body}");
        }
    }
}
