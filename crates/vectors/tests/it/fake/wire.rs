//! Messages of the wire as values of the port.

use std::collections::HashMap;

use pia_kernel::KnowledgeBaseId;
use pia_knowledge::{ChunkId, TermWeight, VectorPoint};
use qdrant_client::qdrant::condition::ConditionOneOf;
use qdrant_client::qdrant::r#match::MatchValue;
use qdrant_client::qdrant::point_id::PointIdOptions;
use qdrant_client::qdrant::query::Variant;
use qdrant_client::qdrant::value::Kind;
use qdrant_client::qdrant::vector::Vector as Numbers;
use qdrant_client::qdrant::vectors::VectorsOptions;
use qdrant_client::qdrant::{
    Filter, PointId, PointStruct, Query, RetrievedPoint, SparseVector, Value, Vector, vector_input,
};

/// Returns the chunk of a point.
pub(super) fn chunk(id: Option<PointId>) -> ChunkId {
    match id.unwrap().point_id_options.unwrap() {
        PointIdOptions::Uuid(id) => ChunkId(id.parse().unwrap()),
        PointIdOptions::Num(id) => panic!("a number: {id}"),
    }
}

/// Returns points that have an id alone.
pub(super) fn retrieved(chunks: &[ChunkId]) -> Vec<RetrievedPoint> {
    let point = |it: &ChunkId| RetrievedPoint {
        id: Some(PointId::from(it.to_string())),
        ..RetrievedPoint::default()
    };
    chunks.iter().map(point).collect()
}

/// Returns a point that is to be stored.
pub(super) fn point(point: PointStruct) -> VectorPoint {
    let Some(VectorsOptions::Vectors(named)) = point.vectors.unwrap().vectors_options else {
        panic!("vectors without names")
    };
    let mut named = named.vectors;
    let dense = match numbers(&mut named, "dense") {
        Some(Numbers::Dense(dense)) => dense.data,
        other => panic!("no dense vector: {other:?}"),
    };
    let terms = match numbers(&mut named, "terms") {
        Some(Numbers::Sparse(sparse)) => terms(sparse),
        None => Vec::new(),
        other => panic!("no sparse vector: {other:?}"),
    };
    assert!(named.is_empty() && point.payload.len() == 1);
    VectorPoint { chunk: chunk(point.id), base: base(&point.payload["base"]), dense, terms }
}

fn numbers(named: &mut HashMap<String, Vector>, name: &str) -> Option<Numbers> {
    named.remove(name).map(|it| it.vector.unwrap())
}

fn base(value: &Value) -> KnowledgeBaseId {
    match value.kind.as_ref().unwrap() {
        Kind::StringValue(id) => KnowledgeBaseId(id.parse().unwrap()),
        other => panic!("no text: {other:?}"),
    }
}

fn terms(sparse: SparseVector) -> Vec<TermWeight> {
    let pairs = sparse.indices.into_iter().zip(sparse.values);
    pairs.map(|(term, weight)| TermWeight { term, weight }).collect()
}

/// Returns the bases that a filter admits.
pub(super) fn bases(filter: &Filter) -> Vec<KnowledgeBaseId> {
    let [condition] = filter.must.as_slice() else { panic!("one condition: {filter:?}") };
    let Some(ConditionOneOf::Field(field)) = &condition.condition_one_of else {
        panic!("a field: {condition:?}")
    };
    assert_eq!(field.key, "base");

    match field.r#match.as_ref().unwrap().match_value.as_ref().unwrap() {
        MatchValue::Keywords(any) => {
            any.strings.iter().map(|it| KnowledgeBaseId(it.parse().unwrap())).collect()
        }
        other => panic!("any of some texts: {other:?}"),
    }
}

/// Returns the dense vector that a query compares.
pub(super) fn dense(query: Option<Query>) -> Vec<f32> {
    match nearest(query) {
        vector_input::Variant::Dense(dense) => dense.data,
        other => panic!("no dense vector: {other:?}"),
    }
}

/// Returns the terms that a query compares.
pub(super) fn query_terms(query: Option<Query>) -> Vec<TermWeight> {
    match nearest(query) {
        vector_input::Variant::Sparse(sparse) => terms(sparse),
        other => panic!("no sparse vector: {other:?}"),
    }
}

fn nearest(query: Option<Query>) -> vector_input::Variant {
    match query.unwrap().variant {
        Some(Variant::Nearest(input)) => input.variant.unwrap(),
        other => panic!("no vector: {other:?}"),
    }
}
