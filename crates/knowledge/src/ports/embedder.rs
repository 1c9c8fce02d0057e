//! Port of the model that embeds texts; implemented in `server` over `assistant`.
//!
//! All models have vectors of `VECTOR_SIZE` dimensions, since the vector store has one
//! layout for all bases. `Embedding::into_vectors` checks what a provider returned.

use std::time::Duration;

use async_trait::async_trait;

/// Number of dimensions of every dense vector.
pub const VECTOR_SIZE: usize = 1024;

/// Model that embeds texts.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Returns the name of the configured model. Vectors of different models
    /// cannot be compared.
    fn model(&self) -> String;

    /// Returns the maximum number of texts in one call.
    fn batch_size(&self) -> usize;

    /// Returns the cosine similarity below which a question and a text are
    /// unrelated.
    fn min_similarity(&self) -> f32;

    /// Embeds texts, at most [`batch_size`](Self::batch_size) of them, with the
    /// configured model or another one of its provider.
    async fn embed(&self, model: &str, texts: Vec<String>) -> Result<Embedding, EmbedError>;
}

/// Vectors of some texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    /// One vector of [`VECTOR_SIZE`] numbers for each text, of length 1.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens of all texts together, as the provider bills them.
    pub tokens: i64,
}

impl Embedding {
    /// Checks that there is a usable vector for each text, and returns them with
    /// the length 1: an unusable one would spoil every search that compares it.
    pub(crate) fn into_vectors(self, texts: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
        let is_complete = self.vectors.len() == texts;
        if let Some(size) = self.vectors.iter().map(Vec::len).find(|it| *it != VECTOR_SIZE) {
            let reason = format!("its vectors have {size} dimensions instead of {VECTOR_SIZE}");
            return Err(EmbedError::Rejected(reason));
        }
        let vectors = self.vectors.into_iter().map(normalise).collect::<Option<Vec<_>>>();
        match vectors {
            Some(vectors) if is_complete => Ok(vectors),
            _ => Err(EmbedError::Unavailable {
                reason: "it did not return a vector for each text".to_owned(),
                retry_after: None,
            }),
        }
    }
}

/// Returns a vector with the length 1; `None` if it has none.
fn normalise(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    let length = vector.iter().map(|it| it * it).sum::<f32>().sqrt();
    if !length.is_normal() {
        return None;
    }
    for it in &mut vector {
        *it /= length;
    }
    Some(vector)
}

/// Reasons why a model did not embed texts, write a context, or rank passages.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// Provider cannot answer at present.
    #[error("the provider of the model is unavailable: {reason}")]
    Unavailable {
        /// Reason, without anything that the provider answered.
        reason: String,
        /// Delay that the provider requested; `None` if it requested none.
        retry_after: Option<Duration>,
    },
    /// Provider rejects the request and would reject it again.
    #[error("the provider of the model rejected the request: {0}")]
    Rejected(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(vectors: Vec<Vec<f32>>, texts: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
        Embedding { vectors, tokens: 1 }.into_vectors(texts)
    }

    #[test]
    fn vectors_that_no_search_can_compare_are_rejected() {
        let fine = vec![0.5; VECTOR_SIZE];
        let with = |number| [vec![number], vec![0.5; VECTOR_SIZE - 1]].concat();

        for wrong in [
            vec![],
            vec![0.5; VECTOR_SIZE - 1],
            vec![0.5; VECTOR_SIZE + 1],
            vec![0.0; VECTOR_SIZE],
            with(f32::NAN),
            with(f32::INFINITY),
            with(f32::MAX),
        ] {
            assert!(check(vec![fine.clone(), wrong], 2).is_err());
        }
        assert!(check(vec![fine.clone()], 2).is_err());
        assert!(check(vec![fine.clone(), fine], 1).is_err());
    }

    #[test]
    fn vectors_of_another_size_are_named() {
        for size in [0, VECTOR_SIZE - 1, 3072] {
            let reason = format!("its vectors have {size} dimensions instead of 1024");
            assert_eq!(check(vec![vec![0.5; size]], 1), Err(EmbedError::Rejected(reason)));
        }
    }

    #[test]
    fn vectors_get_the_length_1() {
        let vectors = check(vec![vec![0.5; VECTOR_SIZE]], 1).unwrap();

        let length: f32 = vectors[0].iter().map(|it| it * it).sum();
        assert!((length - 1.0).abs() < 1e-4);
        assert!(check(Vec::new(), 0).unwrap().is_empty());
    }
}
