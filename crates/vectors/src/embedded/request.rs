//! Requests to the engine, as those of `server/request.rs` to the server.
//!
//! A search with both vectors fetches candidates by each, and fuses their ranks:
//! reciprocal rank fusion. With one vector there is nothing to fuse.

use pia_kernel::KnowledgeBaseId;
use pia_knowledge::{ChunkId, FoundChunk, TermWeight, VectorPoint, VectorQuery};
use qdrant_edge::external::serde_json::json;
use qdrant_edge::{
    AnyVariants, Condition, FieldCondition, Filter, Fusion, Match, MatchAny, NamedQuery,
    OperationError, PointId, PointInsertOperations, PointOperations, PointStruct, Prefetch,
    QueryEnum, QueryRequest, ScoredPoint, ScoringQuery, ScrollRequest, UpdateOperation, Vector,
    WithVector,
};
use uuid::Uuid;

use super::config::base_field;
use crate::layout::{BASE, DENSE, TERMS, candidates};

/// Influence of a rank, as reciprocal rank fusion names it; the server has the
/// same.
const RRF_K: usize = 2;

/// Returns the operation that stores points.
pub(super) fn upsert(points: Vec<VectorPoint>) -> Result<UpdateOperation, OperationError> {
    let points = points
        .into_iter()
        .map(|it| Ok(point(it)?.into()))
        .collect::<Result<_, OperationError>>()?;
    let upsert = PointOperations::UpsertPoints(PointInsertOperations::PointsList(points));
    Ok(UpdateOperation::PointOperation(upsert))
}

fn point(point: VectorPoint) -> Result<PointStruct, OperationError> {
    let mut vectors = vec![(DENSE, Vector::new_dense(point.dense))];
    if !point.terms.is_empty() {
        vectors.push((TERMS, sparse(&point.terms)?));
    }
    let payload = json!({ BASE: point.base.to_string() });
    Ok(PointStruct::new(PointId::Uuid(point.chunk.0), vectors, payload))
}

fn sparse(terms: &[TermWeight]) -> Result<Vector, OperationError> {
    let (indices, values): (Vec<u32>, Vec<f32>) =
        terms.iter().map(|it| (it.term, it.weight)).unzip();
    Vector::new_sparse(indices, values)
}

/// Returns the operation that deletes points.
pub(super) fn delete(chunks: &[ChunkId]) -> UpdateOperation {
    UpdateOperation::PointOperation(PointOperations::DeletePoints { ids: ids(chunks) })
}

/// Returns the ids of the points of chunks.
pub(super) fn ids(chunks: &[ChunkId]) -> Vec<PointId> {
    chunks.iter().map(|it| PointId::Uuid(it.0)).collect()
}

/// Returns the request for a search by the dense vector, by the terms, or by both.
pub(super) fn search(query: VectorQuery) -> Result<QueryRequest, OperationError> {
    let filter = within(&query.bases)?;
    let has_dense = !query.dense.is_empty();
    let dense = nearest(DENSE, Vector::new_dense(query.dense));
    let (prefetches, scoring, filter) = if query.terms.is_empty() {
        (Vec::new(), dense, Some(filter))
    } else if !has_dense {
        (Vec::new(), nearest(TERMS, sparse(&query.terms)?), Some(filter))
    } else {
        let terms = nearest(TERMS, sparse(&query.terms)?);
        let prefetches = [dense, terms].map(|it| prefetch(it, query.limit, filter.clone()));
        let fusion = Fusion::Rrf { k: RRF_K, weights: None };
        (prefetches.into(), ScoringQuery::Fusion(fusion), None)
    };

    Ok(QueryRequest {
        prefetches,
        query: Some(scoring),
        filter,
        score_threshold: None,
        limit: query.limit,
        offset: 0,
        params: None,
        with_vector: WithVector::Bool(false),
        with_payload: false.into(),
    })
}

fn nearest(name: &str, vector: Vector) -> ScoringQuery {
    ScoringQuery::Vector(QueryEnum::Nearest(NamedQuery::new(vector.into(), name)))
}

fn prefetch(scoring: ScoringQuery, limit: usize, filter: Filter) -> Prefetch {
    Prefetch {
        prefetches: Vec::new(),
        query: Some(scoring),
        limit: candidates(limit),
        params: None,
        filter: Some(filter),
        score_threshold: None,
    }
}

/// Returns the filter of the points of bases.
fn within(bases: &[KnowledgeBaseId]) -> Result<Filter, OperationError> {
    let any = AnyVariants::Strings(bases.iter().map(ToString::to_string).collect());
    let condition = FieldCondition::new_match(base_field()?, Match::Any(MatchAny { any }));
    Ok(Filter::new_must(Condition::Field(condition)))
}

/// Returns the request for the page of ids that begins with `first`.
pub(super) fn page(first: Uuid, limit: usize) -> ScrollRequest {
    ScrollRequest {
        offset: Some(PointId::Uuid(first)),
        limit: Some(limit),
        filter: None,
        with_payload: Some(false.into()),
        with_vector: WithVector::Bool(false),
        order_by: None,
    }
}

/// Returns the chunk of a point that a search found.
pub(super) fn found_chunk(point: &ScoredPoint) -> Result<FoundChunk, OperationError> {
    Ok(FoundChunk { chunk: chunk(point.id)?, score: point.score })
}

/// Returns the chunk of a point.
pub(super) fn chunk(point: PointId) -> Result<ChunkId, OperationError> {
    match point {
        PointId::Uuid(id) => Ok(ChunkId(id)),
        PointId::NumId(_) => Err(OperationError::service_error("a point has no UUID")),
    }
}
