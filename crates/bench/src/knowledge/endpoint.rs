//! Embedding model behind an endpoint in OpenAI's format.

use actix_web::web::Bytes;
use async_trait::async_trait;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use pia_knowledge::{EmbedError, Embedder, Embedding, VECTOR_SIZE};
use serde_json::{Value, json};

use crate::failure::Outcome;

const BATCH: usize = 32;

/// Embedding model behind an endpoint without TLS. Vectors with fewer dimensions
/// than are stored are filled up with zeros, which changes no similarity.
pub(super) struct Endpoint {
    url: String,
    model: String,
}

impl Endpoint {
    /// Creates the embedder of a URL that ends before `/embeddings`.
    pub(super) fn new(url: &str, model: &str) -> Self {
        Self { url: format!("{}/embeddings", url.trim_end_matches('/')), model: model.to_owned() }
    }

    async fn request(&self, texts: &[String]) -> Outcome<Vec<Vec<f32>>> {
        let body = json!({ "model": self.model, "input": texts, "encoding_format": "float" });
        let request = http::Request::post(&self.url)
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body.to_string())))?;
        let client: Client<HttpConnector, Full<Bytes>> =
            Client::builder(TokioExecutor::new()).build_http();
        let response = client.request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        if !status.is_success() {
            return Err(format!("{} answered {status}", self.url).into());
        }

        let answer: Value = serde_json::from_slice(&body)?;
        let items = answer.get("data").and_then(Value::as_array).ok_or("no data")?;

        items.iter().map(vector).collect()
    }
}

fn vector(item: &Value) -> Outcome<Vec<f32>> {
    let numbers = item.get("embedding").ok_or("no embedding")?;
    let mut vector: Vec<f32> = serde_json::from_value(numbers.clone())?;
    if vector.len() > VECTOR_SIZE {
        return Err(format!("the model has {} dimensions", vector.len()).into());
    }
    vector.resize(VECTOR_SIZE, 0.0);
    Ok(vector)
}

#[async_trait]
impl Embedder for Endpoint {
    fn model(&self) -> String {
        self.model.clone()
    }

    fn batch_size(&self) -> usize {
        BATCH
    }

    fn min_similarity(&self) -> f32 {
        0.0
    }

    async fn embed(&self, _: &str, texts: Vec<String>) -> Result<Embedding, EmbedError> {
        let tokens = i64::try_from(texts.len()).unwrap_or(i64::MAX);
        match self.request(&texts).await {
            Ok(vectors) => Ok(Embedding { vectors, tokens }),
            Err(err) => Err(EmbedError::Rejected(err.to_string())),
        }
    }
}
