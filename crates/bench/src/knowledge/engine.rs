//! Engine of the vector store, called directly.

use std::path::Path;

use pia_kernel::KnowledgeBaseId;
use pia_knowledge::{ChunkId, TermWeight};
use qdrant_edge::{
    AnyVariants, Condition, EdgeShard, FieldCondition, Filter, Fusion, JsonPath, Match, MatchAny,
    NamedQuery, PointId, Prefetch, QueryEnum, QueryRequest, ScoringQuery, Vector, WithVector,
};

use crate::failure::Outcome;

/// Candidates by each vector for a result, as the store asks for them.
const CANDIDATES: usize = 4;
/// Influence of a rank, as the store sets it.
const RRF_K: usize = 2;

/// Shard of a folder that no store has open.
pub(super) struct Engine(EdgeShard);

impl Engine {
    pub(super) fn load(folder: &Path) -> Outcome<Self> {
        Ok(Self(EdgeShard::load(folder, None).map_err(|err| err.to_string())?))
    }

    /// Finds chunks by both vectors, as the store does.
    pub(super) fn fused(
        &self,
        bases: &[KnowledgeBaseId],
        dense: Vec<f32>,
        terms: &[TermWeight],
        limit: usize,
    ) -> Outcome<Vec<ChunkId>> {
        let filter = within(bases)?;
        let prefetch = |query| Prefetch {
            prefetches: Vec::new(),
            query: Some(query),
            limit: limit * CANDIDATES,
            params: None,
            filter: Some(filter.clone()),
            score_threshold: None,
        };

        let dense = nearest("dense", Vector::new_dense(dense));
        let prefetches = vec![prefetch(dense), prefetch(by_terms(terms)?)];
        let fusion = ScoringQuery::Fusion(Fusion::Rrf { k: RRF_K, weights: None });

        self.query(QueryRequest { prefetches, ..request(fusion, None, limit) })
    }

    /// Finds chunks by their terms alone, which the store does not.
    pub(super) fn sparse(
        &self,
        bases: &[KnowledgeBaseId],
        terms: &[TermWeight],
        limit: usize,
    ) -> Outcome<Vec<ChunkId>> {
        self.query(request(by_terms(terms)?, Some(within(bases)?), limit))
    }

    fn query(&self, request: QueryRequest) -> Outcome<Vec<ChunkId>> {
        let points = self.0.query(request).map_err(|err| err.to_string())?;
        let chunk = |it: PointId| match it {
            PointId::Uuid(id) => Ok(ChunkId(id)),
            PointId::NumId(_) => Err("a point has no UUID".into()),
        };
        points.iter().map(|it| chunk(it.id)).collect()
    }
}

fn request(query: ScoringQuery, filter: Option<Filter>, limit: usize) -> QueryRequest {
    QueryRequest {
        prefetches: Vec::new(),
        query: Some(query),
        filter,
        score_threshold: None,
        limit,
        offset: 0,
        params: None,
        with_vector: WithVector::Bool(false),
        with_payload: false.into(),
    }
}

fn nearest(name: &str, vector: Vector) -> ScoringQuery {
    ScoringQuery::Vector(QueryEnum::Nearest(NamedQuery::new(vector.into(), name)))
}

fn by_terms(terms: &[TermWeight]) -> Outcome<ScoringQuery> {
    let (indices, values) =
        terms.iter().map(|it| (it.term, it.weight)).unzip::<_, _, Vec<u32>, Vec<f32>>();
    let vector = Vector::new_sparse(indices, values).map_err(|err| err.to_string())?;
    Ok(nearest("terms", vector))
}

fn within(bases: &[KnowledgeBaseId]) -> Outcome<Filter> {
    let any = AnyVariants::Strings(bases.iter().map(ToString::to_string).collect());
    let field = JsonPath::try_from("base").map_err(|()| "the field of the base is no path")?;
    let condition = FieldCondition::new_match(field, Match::Any(MatchAny { any }));
    Ok(Filter::new_must(Condition::Field(condition)))
}
