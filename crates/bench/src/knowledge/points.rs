//! Points in clusters, which are generated again instead of being stored.
//!
//! The position of a point determines its vector and its terms, so that brute
//! force compares the same vectors as the store without holding them in memory.

use std::ops::Range;
use std::thread;

use pia_kernel::KnowledgeBaseId;
use pia_knowledge::{ChunkId, TermWeight, VECTOR_SIZE, VectorPoint};

use super::sample::Sample;
use crate::failure::Outcome;

/// Number of bases among which the points are distributed.
pub(super) const BASES: usize = 1_000;
/// Number of results that brute force finds.
pub(super) const NEAREST: usize = 10;

const CLUSTERS: u32 = 500;
/// Distance of a vector from the middle of its cluster.
const SPREAD: f32 = 0.8;
const VOCABULARY: u32 = 30_000;
const TERMS_OF_CHUNK: usize = 100;
const TERMS_OF_QUESTION: usize = 6;
/// Number of products that are summed separately, so that the compiler can use
/// vector instructions.
const LANES: usize = 8;

/// Points, and the middles of their clusters.
pub(super) struct Points {
    pub(super) bases: Vec<KnowledgeBaseId>,
    pub(super) chunks: Vec<ChunkId>,
    clusters: Vec<Vec<f32>>,
}

/// Question near a cluster.
pub(super) struct DenseQuestion {
    pub(super) dense: Vec<f32>,
    pub(super) terms: Vec<TermWeight>,
}

impl Points {
    pub(super) fn new(chunks: usize) -> Self {
        let mut sample = Sample::new(1);
        let cluster = |_| (0..VECTOR_SIZE).map(|_| sample.centred()).collect();
        Self {
            clusters: (0..CLUSTERS).map(cluster).collect(),
            bases: (0..BASES).map(|_| KnowledgeBaseId::generate()).collect(),
            chunks: (0..chunks).map(|_| ChunkId::generate()).collect(),
        }
    }

    /// Returns the points of these positions.
    pub(super) fn range(&self, range: Range<usize>) -> Outcome<Vec<VectorPoint>> {
        let point = |at: usize| -> Outcome<VectorPoint> {
            let (Some(base), Some(chunk)) = (self.bases.get(at % BASES), self.chunks.get(at))
            else {
                return Err("no such point".into());
            };
            let terms = draw_terms(&mut Sample::new(at + 1_000), TERMS_OF_CHUNK);
            Ok(VectorPoint { chunk: *chunk, base: *base, dense: self.dense(at), terms })
        };
        range.map(point).collect()
    }

    pub(super) fn questions(&self, number: usize) -> Vec<DenseQuestion> {
        let question = |at: usize| {
            let mut sample = Sample::new(usize::MAX - at);
            let dense = self.near(&mut sample);
            DenseQuestion { dense, terms: draw_terms(&mut sample, TERMS_OF_QUESTION) }
        };
        (0..number).map(question).collect()
    }

    /// Returns the nearest chunks of each question by comparing it with all, on
    /// two threads.
    pub(super) fn nearest(&self, questions: &[DenseQuestion]) -> Outcome<Vec<Vec<ChunkId>>> {
        let half = self.chunks.len() / 2;
        let (first, second) = thread::scope(|scope| {
            let first = scope.spawn(|| self.nearest_in(0..half, questions));
            let second = self.nearest_in(half..self.chunks.len(), questions);
            (first.join(), second)
        });

        let Ok(first) = first else { return Err("brute force panicked".into()) };

        let ids = first.into_iter().zip(second).map(|(mut found, more)| {
            found.extend(more);
            found.sort_by(|one, other| other.0.total_cmp(&one.0));
            found.into_iter().take(NEAREST).map(|it| it.1).collect()
        });

        Ok(ids.collect())
    }

    fn nearest_in(
        &self,
        range: Range<usize>,
        questions: &[DenseQuestion],
    ) -> Vec<Vec<(f32, ChunkId)>> {
        let mut nearest = vec![Vec::<(f32, ChunkId)>::new(); questions.len()];
        for (at, chunk) in self.chunks.iter().enumerate().take(range.end).skip(range.start) {
            let dense = self.dense(at);
            for (found, question) in nearest.iter_mut().zip(questions) {
                let similarity = dot_product(&dense, &question.dense);
                let place = found.partition_point(|it| it.0 >= similarity);
                if place < NEAREST {
                    found.insert(place, (similarity, *chunk));
                    found.truncate(NEAREST);
                }
            }
        }

        nearest
    }

    fn dense(&self, at: usize) -> Vec<f32> {
        self.near(&mut Sample::new(at + 1_000_000_000))
    }

    /// Returns a vector of length 1 near one of the clusters.
    fn near(&self, sample: &mut Sample) -> Vec<f32> {
        let cluster = sample.below(CLUSTERS) as usize;
        let middle = self.clusters.get(cluster).map(Vec::as_slice).unwrap_or_default();
        unit(middle.iter().map(|it| it + SPREAD * sample.centred()).collect())
    }
}

/// Returns a vector with the length 1.
pub(super) fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = dot_product(&vector, &vector).sqrt();
    for it in &mut vector {
        *it /= length;
    }
    vector
}

/// Returns the dot product of two vectors, which is the similarity of vectors of length 1.
fn dot_product(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    for (a_lanes, b_lanes) in a.chunks_exact(LANES).zip(b.chunks_exact(LANES)) {
        for (sum, (x, y)) in sums.iter_mut().zip(a_lanes.iter().zip(b_lanes)) {
            *sum += x * y;
        }
    }
    sums.iter().sum()
}

fn draw_terms(sample: &mut Sample, number: usize) -> Vec<TermWeight> {
    let mut terms: Vec<u32> = (0..number).map(|_| sample.rank(VOCABULARY)).collect();
    terms.sort_unstable();
    terms.dedup();
    terms.into_iter().map(|term| TermWeight { term, weight: 1.5 + sample.centred() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_the_same_each_time_and_nearest_to_themselves() {
        let points = Points::new(50);
        let generated = points.range(0..50).unwrap();
        let question = DenseQuestion { dense: generated[7].dense.clone(), terms: Vec::new() };

        let nearest = points.nearest(&[question]).unwrap();

        assert_eq!(generated[3..4], points.range(3..4).unwrap());
        assert_eq!(nearest[0].len(), NEAREST);
        assert_eq!(nearest[0][0], generated[7].chunk);
    }
}
