//! Layout of points, which both stores share.

use pia_kernel::Unavailable;
use pia_knowledge::{ChunkId, VectorQuery};
use uuid::Uuid;

/// Name of the dense vector in a point and in the collection.
pub(crate) const DENSE: &str = "dense";
/// Name of the sparse vector in a point and in the collection.
pub(crate) const TERMS: &str = "terms";
/// Field of the payload with the id of the base.
pub(crate) const BASE: &str = "base";

/// Candidates that are fused for each result.
const CANDIDATES: usize = 4;

/// Returns the number of candidates by each vector, for this number of results.
pub(crate) fn candidates(limit: usize) -> usize {
    limit.saturating_mul(CANDIDATES)
}

/// Returns whether a search finds nothing, whatever is stored.
pub(crate) fn is_empty(query: &VectorQuery) -> bool {
    let has_vectors = !(query.dense.is_empty() && query.terms.is_empty());
    query.bases.is_empty() || query.limit == 0 || !has_vectors
}

/// Returns the id from which a page begins; `None` if there can be none after
/// this one.
pub(crate) fn first_after(chunk: Option<ChunkId>) -> Option<Uuid> {
    let after = chunk.map_or(Some(0), |it| it.0.as_u128().checked_add(1));
    after.map(Uuid::from_u128)
}

/// Returns the error of a store that failed.
pub(crate) fn unavailable(
    cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Unavailable {
    Unavailable::new("vector store", cause)
}
