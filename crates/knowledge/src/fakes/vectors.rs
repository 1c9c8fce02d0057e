//! Vector store in memory.

use std::collections::HashMap;

use async_trait::async_trait;
use pia_kernel::Unavailable;

use super::{InMemory, Step};
use crate::ports::chunk_store::ChunkId;
use crate::ports::vector_store::{FoundChunk, VectorPoint, VectorQuery, VectorStore};

#[async_trait]
impl VectorStore for InMemory {
    async fn put(&self, points: Vec<VectorPoint>) -> Result<(), Unavailable> {
        self.step(Step::PutPoints, |state| {
            if !state.loses_points {
                state.points.extend(points.into_iter().map(|it| (it.chunk, it)));
            }
        })
    }

    async fn delete(&self, chunks: &[ChunkId]) -> Result<(), Unavailable> {
        self.step(Step::Other, |state| state.points.retain(|id, _| !chunks.contains(id)))
    }

    async fn search(&self, query: VectorQuery) -> Result<Vec<FoundChunk>, Unavailable> {
        self.step(Step::Other, |state| {
            let points: Vec<&VectorPoint> =
                state.points.values().filter(|it| query.bases.contains(&it.base)).collect();
            let dense =
                |it: &VectorPoint| it.dense.iter().zip(&query.dense).map(|(a, b)| a * b).sum();
            let mut scores = HashMap::<ChunkId, f32>::new();
            for chunks in [rank_by(&points, dense), rank_by(&points, term_score(&points, &query))] {
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
        self.step(Step::Existing, |state| {
            chunks.iter().filter(|it| state.points.contains_key(it)).copied().collect()
        })
    }

    async fn list(
        &self,
        after: Option<ChunkId>,
        limit: usize,
    ) -> Result<Vec<ChunkId>, Unavailable> {
        self.step(Step::Other, |state| {
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

/// Returns the function that scores points by their terms, rare ones more.
fn term_score(points: &[&VectorPoint], query: &VectorQuery) -> impl Fn(&VectorPoint) -> f32 {
    let to_f32 = |count: usize| f32::from(u16::try_from(count).unwrap_or(u16::MAX));
    let weight_of = |point: &VectorPoint, term| {
        point.terms.iter().find(|it| it.term == term).map_or(0.0, |it| it.weight)
    };
    let terms: Vec<(u32, f32)> = query
        .terms
        .iter()
        .map(|it| {
            let with_term = points.iter().filter(|point| weight_of(point, it.term) > 0.0).count();
            let with_term = to_f32(with_term);
            let rarity = (1.0 + (to_f32(points.len()) - with_term + 0.5) / (with_term + 0.5)).ln();
            (it.term, it.weight * rarity)
        })
        .collect();
    move |point| terms.iter().map(|(term, weight)| weight * weight_of(point, *term)).sum()
}
