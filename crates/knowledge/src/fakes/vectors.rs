//! Vector store in memory.

use std::collections::HashMap;

use async_trait::async_trait;
use pia_kernel::Unavailable;

use super::{InMemory, Step};
use crate::ports::chunk_store::ChunkId;
use crate::ports::vector_store::{FoundChunk, VectorPoint, VectorQuery, VectorStore};
use crate::terms::TermWeight;

#[async_trait]
impl VectorStore for InMemory {
    async fn put(&self, points: Vec<VectorPoint>) -> Result<(), Unavailable> {
        self.run_step(Step::PutPoints, |state| {
            if !state.loses_points {
                state.points.extend(points.into_iter().map(|it| (it.chunk, it)));
            }
        })
    }

    async fn delete(&self, chunks: &[ChunkId]) -> Result<(), Unavailable> {
        self.run_step(Step::Other, |state| state.points.retain(|id, _| !chunks.contains(id)))
    }

    async fn search(&self, query: VectorQuery) -> Result<Vec<FoundChunk>, Unavailable> {
        self.run_step(Step::Other, |state| {
            let points: Vec<&VectorPoint> =
                state.points.values().filter(|it| query.bases.contains(&it.base)).collect();
            let term_scorer = TermScorer::new(&points, &query);
            let rankings = [
                rank_by(&points, |it| dot(&it.dense, &query.dense)),
                rank_by(&points, |it| term_scorer.score(it)),
            ];

            // Reciprocal rank fusion; the first rank counts 1/2.
            let mut scores = HashMap::<ChunkId, f32>::new();
            for chunks in rankings {
                for (id, rank) in chunks.into_iter().take(query.limit).zip(2_u16..) {
                    *scores.entry(id).or_default() += 1.0 / f32::from(rank);
                }
            }

            let mut found_chunks: Vec<FoundChunk> =
                scores.into_iter().map(|(chunk, score)| FoundChunk { chunk, score }).collect();
            found_chunks.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.chunk.cmp(&b.chunk)));
            found_chunks.truncate(query.limit);
            found_chunks
        })
    }

    async fn existing(&self, chunks: &[ChunkId]) -> Result<Vec<ChunkId>, Unavailable> {
        self.run_step(Step::Existing, |state| {
            chunks.iter().filter(|it| state.points.contains_key(it)).copied().collect()
        })
    }

    async fn list(
        &self,
        after: Option<ChunkId>,
        limit: usize,
    ) -> Result<Vec<ChunkId>, Unavailable> {
        self.run_step(Step::Other, |state| {
            state.points.keys().filter(|it| Some(**it) > after).take(limit).copied().collect()
        })
    }
}

/// Returns the points with a positive score, best first.
fn rank_by(points: &[&VectorPoint], score: impl Fn(&VectorPoint) -> f32) -> Vec<ChunkId> {
    let mut scores: Vec<(ChunkId, f32)> =
        points.iter().map(|it| (it.chunk, score(it))).filter(|(_, score)| *score > 0.0).collect();
    scores.sort_by(|a, b| b.1.total_cmp(&a.1));
    scores.into_iter().map(|(chunk, _)| chunk).collect()
}

/// Returns the cosine of the angle between vectors of length 1.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(left, right)| left * right).sum()
}

/// Scores points by the terms that they share with a question.
struct TermScorer {
    /// Terms of the question, with weights that count rare terms more.
    terms: Vec<TermWeight>,
}

impl TermScorer {
    /// Creates a scorer with the frequencies of the terms in `points`.
    fn new(points: &[&VectorPoint], query: &VectorQuery) -> Self {
        let rescale = |it: &TermWeight| {
            let weight = it.weight * idf(points, it.term);
            TermWeight { term: it.term, weight }
        };
        Self { terms: query.terms.iter().map(rescale).collect() }
    }

    fn score(&self, point: &VectorPoint) -> f32 {
        self.terms.iter().map(|it| it.weight * weight_in(point, it.term)).sum()
    }
}

/// Returns the inverse document frequency of a term, as BM25 computes it.
fn idf(points: &[&VectorPoint], term: u32) -> f32 {
    let to_f32 = |count: usize| f32::from(u16::try_from(count).unwrap_or(u16::MAX));
    let points_with_term = points.iter().filter(|it| weight_in(it, term) > 0.0).count();
    let document_frequency = to_f32(points_with_term);

    let ratio = (to_f32(points.len()) - document_frequency + 0.5) / (document_frequency + 0.5);
    (1.0 + ratio).ln()
}

/// Returns the weight of a term in a point: 0 if its text does not contain it.
fn weight_in(point: &VectorPoint, term: u32) -> f32 {
    point.terms.iter().find(|it| it.term == term).map_or(0.0, |it| it.weight)
}
