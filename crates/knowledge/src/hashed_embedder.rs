//! Embedder for development and tests, by feature hashing.
//!
//! Each term, and each group of three letters, adds its weight to the dimension
//! that its hash determines, with a sign that the hash determines too, so that
//! collisions cancel out on average.

use async_trait::async_trait;
use unicode_segmentation::UnicodeSegmentation;

use crate::ports::embedder::{EmbedError, Embedder, Embedding, VECTOR_SIZE};
use crate::terms::{TermWeight, document_terms, hash};

/// Minimum similarity of a question and a text that share words.
const MIN_SIMILARITY: f32 = 0.12;
/// Number of texts that are embedded at once.
const BATCH_SIZE: usize = 64;
/// Weight of three letters, relative to a term.
const LETTERS_WEIGHT: f32 = 0.15;

/// Deterministic embedder that needs no provider. It is no model: texts are
/// close if they share words or parts of them, whatever they mean.
#[derive(Debug, Clone, Copy, Default)]
pub struct HashedEmbedder;

impl HashedEmbedder {
    /// Name of its only model, as it is stored with the bases that it embedded.
    pub const MODEL: &str = "hashed n-grams";
}

#[async_trait]
impl Embedder for HashedEmbedder {
    fn model(&self) -> String {
        Self::MODEL.to_owned()
    }

    fn batch_size(&self) -> usize {
        BATCH_SIZE
    }

    fn min_similarity(&self) -> f32 {
        MIN_SIMILARITY
    }

    async fn embed(&self, model: &str, texts: Vec<String>) -> Result<Embedding, EmbedError> {
        if model != Self::MODEL {
            return Err(EmbedError::Rejected(format!("there is no model {model}")));
        }
        let tokens = texts.iter().map(|it| it.unicode_words().count()).sum::<usize>();
        let vectors = texts.iter().map(|it| embed(it)).collect();
        Ok(Embedding { vectors, tokens: i64::try_from(tokens).unwrap_or(i64::MAX) })
    }
}

fn embed(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0; VECTOR_SIZE];
    for TermWeight { term, weight } in document_terms(text) {
        add(&mut vector, term, weight);
    }

    let letters: Vec<char> = text.to_lowercase().chars().filter(|it| it.is_alphabetic()).collect();
    for trigram in letters.windows(3) {
        add(&mut vector, hash(&String::from_iter(trigram)), LETTERS_WEIGHT);
    }

    normalise(&mut vector);
    vector
}

/// Adds a weight to the dimension of a hash, with the sign that it determines.
fn add(vector: &mut [f32], hash: u32, weight: f32) {
    // Mixed, since FNV-1a's low bits differ little between similar words.
    let product = (hash ^ (hash >> 15)).wrapping_mul(0x2c1b_3c6d);
    let mixed = product ^ (product >> 12);
    let sign = if mixed & (1 << 31) == 0 { 1.0 } else { -1.0 };
    if let Some(value) = vector.get_mut(mixed as usize % VECTOR_SIZE) {
        *value += sign * weight;
    }
}

/// Scales a vector to the length 1; a zero vector gets one dimension.
fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|it| it * it).sum::<f32>().sqrt();
    if length > 0.0 {
        for value in vector {
            *value /= length;
        }
    } else if let Some(first) = vector.first_mut() {
        *first = 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "The travel policy pays for second class railway tickets only.";

    fn similarity(a: &str, b: &str) -> f32 {
        embed(a).iter().zip(embed(b)).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn texts_that_share_words_are_similar() {
        assert!(similarity("Which railway tickets are paid for?", TEXT) > MIN_SIMILARITY);
        assert!(similarity("How do I reset my password?", TEXT) < MIN_SIMILARITY);
    }

    #[tokio::test]
    async fn each_text_has_a_vector_of_length_one() {
        let texts = vec![TEXT.to_owned(), String::new()];

        let embedding = HashedEmbedder.embed(HashedEmbedder::MODEL, texts).await.unwrap();

        assert_eq!(embedding.vectors.len(), 2);
        assert_eq!(embedding.tokens, 10);
        for vector in embedding.vectors {
            let length: f32 = vector.iter().map(|it| it * it).sum();
            assert_eq!(vector.len(), VECTOR_SIZE);
            assert!((length - 1.0).abs() < 1e-4, "{length}");
        }
    }

    #[tokio::test]
    async fn another_model_is_refused() {
        let outcome = HashedEmbedder.embed("bge-m3", Vec::new()).await;

        assert!(matches!(outcome, Err(EmbedError::Rejected(_))));
    }
}
