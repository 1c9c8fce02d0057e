//! Requests to the server, as those of `embedded/request.rs` to the engine.
//!
//! Writes wait until the server has applied them, so that searches find a point as
//! soon as `put` returns.

use std::collections::HashMap;

use pia_knowledge::{ChunkId, FoundChunk, TermWeight, VectorPoint, VectorQuery};
use qdrant_client::Payload;
use qdrant_client::qdrant::{
    Condition, DeletePoints, DeletePointsBuilder, Filter, Fusion, GetPoints, GetPointsBuilder,
    PointId, PointStruct, PrefetchQuery, PrefetchQueryBuilder, Query, QueryPoints,
    QueryPointsBuilder, RetrievedPoint, ScoredPoint, ScrollPoints, ScrollPointsBuilder,
    UpsertPoints, UpsertPointsBuilder, Vector, VectorInput, point_id::PointIdOptions,
};
use uuid::Uuid;

use super::call::CallError;
use super::collection::ALIAS;
use crate::layout::{BASE, DENSE, TERMS, candidates};

/// Returns the request that stores points.
pub(super) fn upsert(points: Vec<VectorPoint>) -> UpsertPoints {
    let structs: Vec<PointStruct> = points.into_iter().map(point).collect();
    UpsertPointsBuilder::new(ALIAS, structs).wait(true).build()
}

fn point(point: VectorPoint) -> PointStruct {
    let mut vectors = HashMap::from([(DENSE.to_owned(), Vector::new_dense(point.dense))]);
    if !point.terms.is_empty() {
        let (indices, values) = sparse(&point.terms);
        vectors.insert(TERMS.to_owned(), Vector::new_sparse(indices, values));
    }
    let payload = Payload::from([(BASE, point.base.to_string().into())]);
    PointStruct::new(point.chunk.to_string(), vectors, payload)
}

fn sparse(terms: &[TermWeight]) -> (Vec<u32>, Vec<f32>) {
    terms.iter().map(|it| (it.term, it.weight)).unzip()
}

/// Returns the request that deletes points.
pub(super) fn delete(chunks: &[ChunkId]) -> DeletePoints {
    DeletePointsBuilder::new(ALIAS).points(ids(chunks)).wait(true).build()
}

fn ids(chunks: &[ChunkId]) -> Vec<PointId> {
    chunks.iter().map(|it| PointId::from(it.to_string())).collect()
}

/// Returns the request for a search by the dense vector, by the terms, or by both.
pub(super) fn search(query: VectorQuery) -> QueryPoints {
    let bases: Vec<_> = query.bases.iter().map(ToString::to_string).collect();
    let filter = Filter::must([Condition::matches(BASE, bases)]);
    let search = QueryPointsBuilder::new(ALIAS).limit(count(query.limit)).with_payload(false);
    let (indices, values) = sparse(&query.terms);
    let terms = VectorInput::new_sparse(indices, values);
    if query.dense.is_empty() {
        return search.query(Query::new_nearest(terms)).using(TERMS).filter(filter).build();
    }

    let dense = VectorInput::new_dense(query.dense);
    if query.terms.is_empty() {
        return search.query(Query::new_nearest(dense)).using(DENSE).filter(filter).build();
    }

    let prefetches = [(DENSE, dense), (TERMS, terms)]
        .map(|(name, vector)| prefetch(name, vector, query.limit, filter.clone()));

    search.prefetch(prefetches.to_vec()).query(Query::new_fusion(Fusion::Rrf)).build()
}

fn prefetch(name: &str, vector: VectorInput, limit: usize, filter: Filter) -> PrefetchQuery {
    PrefetchQueryBuilder::default()
        .query(Query::new_nearest(vector))
        .using(name)
        .filter(filter)
        .limit(count(candidates(limit)))
        .build()
}

/// Returns the request that loads the ids of points, as far as they are stored.
pub(super) fn get(chunks: &[ChunkId]) -> GetPoints {
    GetPointsBuilder::new(ALIAS, ids(chunks)).with_payload(false).with_vectors(false).build()
}

/// Returns the request for the page of ids that begins with `first`.
pub(super) fn page(first: Uuid, limit: usize) -> ScrollPoints {
    ScrollPointsBuilder::new(ALIAS)
        .offset(PointId::from(first.to_string()))
        .limit(u32::try_from(limit).unwrap_or(u32::MAX))
        .with_payload(false)
        .with_vectors(false)
        .build()
}

fn count(limit: usize) -> u64 {
    u64::try_from(limit).unwrap_or(u64::MAX)
}

/// Returns the chunks of points that a search found.
pub(super) fn found_chunks(points: Vec<ScoredPoint>) -> Result<Vec<FoundChunk>, CallError> {
    points.into_iter().map(|it| Ok(FoundChunk { chunk: chunk(it.id)?, score: it.score })).collect()
}

/// Returns the chunks of points.
pub(super) fn chunks(points: Vec<RetrievedPoint>) -> Result<Vec<ChunkId>, CallError> {
    points.into_iter().map(|it| chunk(it.id)).collect()
}

fn chunk(point: Option<PointId>) -> Result<ChunkId, CallError> {
    match point.and_then(|it| it.point_id_options) {
        Some(PointIdOptions::Uuid(id)) => {
            id.parse().map(ChunkId).map_err(|_reason| CallError::Point)
        }
        _ => Err(CallError::Point),
    }
}
