//! Points and searches of tests.

use pia_kernel::KnowledgeBaseId;
use pia_knowledge::{ChunkId, TermWeight, VECTOR_SIZE, VectorPoint, VectorQuery, VectorStore};

/// Returns the vector between these two axes, at this cosine to the first.
pub(crate) fn between(first: usize, second: usize, cosine: f32) -> Vec<f32> {
    let mut vector = vec![0.0; VECTOR_SIZE];
    vector[second] = (1.0 - cosine * cosine).sqrt();
    vector[first] = cosine;
    vector
}

/// Returns the vector of an axis.
pub(crate) fn axis(axis: usize) -> Vec<f32> {
    between(axis, (axis + 1) % VECTOR_SIZE, 1.0)
}

/// Returns terms with their weights.
pub(crate) fn terms(terms: &[(u32, f32)]) -> Vec<TermWeight> {
    terms.iter().map(|&(term, weight)| TermWeight { term, weight }).collect()
}

/// Returns a point of a new chunk.
pub(crate) fn point(base: KnowledgeBaseId, dense: Vec<f32>, of: &[(u32, f32)]) -> VectorPoint {
    VectorPoint { chunk: ChunkId::generate(), base, dense, terms: terms(of) }
}

/// Returns points of a base on its first axes.
pub(crate) fn points(base: KnowledgeBaseId, count: usize) -> Vec<VectorPoint> {
    (0..count).map(|it| point(base, axis(it), &[(7, 1.0)])).collect()
}

/// Returns the chunks of points.
pub(crate) fn chunks(points: &[VectorPoint]) -> Vec<ChunkId> {
    points.iter().map(|it| it.chunk).collect()
}

/// Returns a search of these bases for up to ten chunks.
pub(crate) fn query(bases: &[KnowledgeBaseId], dense: Vec<f32>, of: &[(u32, f32)]) -> VectorQuery {
    VectorQuery { bases: bases.to_vec(), dense, terms: terms(of), limit: 10 }
}

/// Searches a store, and returns the chunks alone.
pub(crate) async fn search(store: &dyn VectorStore, query: VectorQuery) -> Vec<ChunkId> {
    store.search(query).await.unwrap().into_iter().map(|it| it.chunk).collect()
}
