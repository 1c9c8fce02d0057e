//! Searches of bases with the models that embedded them.
//!
//! Vectors of different models cannot be compared, so bases are searched in groups
//! of one model each, and the results are merged by their ranks. A base whose model
//! is gone is searched by its terms alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use pia_kernel::KnowledgeBaseId;

use super::ranking::Candidate;
use super::relevance::similarity;
use super::{MORE_CANDIDATES, Retrieval, RetrievalError};
use crate::ports::embedder::EmbedError;
use crate::ports::vector_store::VectorQuery;
use crate::terms::query_terms;

/// Models that embedded bases and are no longer available, each of which is
/// logged once.
#[derive(Debug, Clone, Default)]
pub struct MissingModels(Arc<Mutex<BTreeSet<String>>>);

impl MissingModels {
    fn log(&self, model: &str, err: &EmbedError) {
        let mut logged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.insert(model.to_owned()) {
            tracing::warn!(
                model,
                error = %err,
                "the model of a knowledge base is not available: it is searched by words alone"
            );
        }
    }
}

impl Retrieval {
    /// Returns the published chunks of bases that are found, best first.
    pub(super) async fn find(
        &self,
        text: &str,
        bases: &[KnowledgeBaseId],
        limit: usize,
    ) -> Result<Vec<Candidate>, RetrievalError> {
        let mut by_model = BTreeMap::<String, Vec<KnowledgeBaseId>>::new();
        for (base, model) in self.chunks.models(bases).await? {
            by_model.entry(model).or_default().push(base);
        }

        let mut ranked = Vec::new();
        for (model, bases) in by_model {
            let dense = self.embed(&model, text).await?;
            let query = VectorQuery { bases, dense, terms: query_terms(text), limit };
            ranked.extend(self.find_published(query).await?.into_iter().enumerate());
        }

        // Scores of different searches cannot be compared, but ranks can.
        ranked.sort_by_key(|(rank, _)| *rank);

        Ok(ranked.into_iter().map(|(_, candidate)| candidate).collect())
    }

    /// Returns the published chunks that a query finds, best first.
    async fn find_published(
        &self,
        mut query: VectorQuery,
    ) -> Result<Vec<Candidate>, RetrievalError> {
        let mut published = self.published_passages(&query).await?;
        if !published.is_complete {
            // Points of unpublished content used up part of the limit, and were left out.
            query.limit = query.limit.saturating_mul(MORE_CANDIDATES);
            published = self.published_passages(&query).await?;
        }

        let candidates = published.passages.into_iter().map(|passage| Candidate {
            similarity: similarity(&query.dense, &passage.dense),
            passage,
        });
        Ok(candidates.collect())
    }

    /// Embeds a question. The vector is empty if the model is neither configured
    /// nor available.
    async fn embed(&self, model: &str, text: &str) -> Result<Vec<f32>, EmbedError> {
        let embedding = self.embedder.embed(model, vec![text.to_owned()]).await;
        match embedding.and_then(|it| it.into_vectors(1)) {
            Ok(mut vectors) => Ok(vectors.pop().unwrap_or_default()),
            // The configured model may be back soon: the caller reports the failure.
            Err(err) if model == self.embedder.model() => Err(err),
            Err(err) => {
                self.missing_models.log(model, &err);
                Ok(Vec::new())
            }
        }
    }
}
