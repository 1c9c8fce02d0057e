//! Calls of the fake server that are about points.

use ::qdrant_client::qdrant::points_selector::PointsSelectorOneOf;
use ::qdrant_client::qdrant::points_server::Points;
use ::qdrant_client::qdrant::query::Variant;
use ::qdrant_client::qdrant::*;
use pia_kernel::Unavailable;
use pia_knowledge::{ChunkId, FoundChunk, VectorQuery, VectorStore};
use tonic::{Request, Response, Status};
use uuid::Uuid;

use super::unused::unused;
use super::{Qdrant, wire};

impl Qdrant {
    /// Checks that the alias leads to a collection.
    fn resolve(&self, name: &str) -> Result<(), Status> {
        let exists = self.catalogue(|it| {
            it.aliases.get(name).is_some_and(|name| it.collections.contains_key(name))
        });
        if exists { Ok(()) } else { Err(Status::not_found(format!("`{name}` doesn't exist"))) }
    }

    /// Checks that a change is waited for.
    fn changed(&self, name: &str, wait: Option<bool>) -> Result<(), Status> {
        if wait != Some(true) {
            return Err(Status::invalid_argument("not waited for"));
        }
        self.resolve(name)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn rejected(err: Unavailable) -> Status {
    Status::invalid_argument(err.to_string())
}

fn done() -> Response<PointsOperationResponse> {
    Response::new(PointsOperationResponse::default())
}

/// Returns the search that a message describes.
fn search(request: QueryPoints) -> VectorQuery {
    let limit = usize::try_from(request.limit.unwrap()).unwrap();
    let [dense, terms] = <[PrefetchQuery; 2]>::try_from(request.prefetch).unwrap_or_else(|it| {
        assert!(it.is_empty(), "{it:?}");
        let dense = PrefetchQuery {
            query: request.query.clone(),
            using: request.using.clone(),
            filter: request.filter.clone(),
            ..PrefetchQuery::default()
        };
        [dense, PrefetchQuery::default()]
    });
    let bases = wire::bases(&dense.filter.clone().unwrap());
    if dense.using.as_deref() == Some("terms") {
        let terms = wire::query_terms(dense.query);
        return VectorQuery { bases, dense: Vec::new(), terms, limit };
    }
    assert_eq!(dense.using.as_deref(), Some("dense"));

    if terms == PrefetchQuery::default() {
        return VectorQuery { bases, dense: wire::dense(dense.query), terms: Vec::new(), limit };
    }
    assert_eq!(request.query.unwrap().variant, Some(Variant::Fusion(Fusion::Rrf.into())));
    assert_eq!(terms.using.as_deref(), Some("terms"));
    assert_eq!(dense.filter, terms.filter);
    assert_eq!(dense.limit, terms.limit);
    assert!(dense.limit > request.limit);

    let dense = wire::dense(dense.query);
    let terms = wire::query_terms(terms.query);
    VectorQuery { bases, dense, terms, limit }
}

#[tonic::async_trait]
impl Points for Qdrant {
    async fn upsert(
        &self,
        request: Request<UpsertPoints>,
    ) -> Result<Response<PointsOperationResponse>, Status> {
        let request = request.into_inner();
        self.changed(&request.collection_name, request.wait)?;
        let points = request.points.into_iter().map(wire::point).collect();
        self.vectors.put(points).await.map_err(rejected)?;
        Ok(done())
    }

    async fn delete(
        &self,
        request: Request<DeletePoints>,
    ) -> Result<Response<PointsOperationResponse>, Status> {
        let request = request.into_inner();
        self.changed(&request.collection_name, request.wait)?;
        let selected = request.points.and_then(|it| it.points_selector_one_of);
        let Some(PointsSelectorOneOf::Points(ids)) = selected else {
            return Err(Status::invalid_argument("not a list of ids"));
        };
        let chunks: Vec<_> = ids.ids.into_iter().map(|it| wire::chunk(Some(it))).collect();
        self.vectors.delete(&chunks).await.map_err(rejected)?;
        Ok(done())
    }

    async fn get(&self, request: Request<GetPoints>) -> Result<Response<GetResponse>, Status> {
        let request = request.into_inner();
        self.resolve(&request.collection_name)?;
        let chunks: Vec<_> = request.ids.into_iter().map(|it| wire::chunk(Some(it))).collect();
        let existing = self.vectors.existing(&chunks).await.map_err(rejected)?;
        let result = wire::retrieved(&existing);
        Ok(Response::new(GetResponse { result, ..GetResponse::default() }))
    }

    async fn scroll(
        &self,
        request: Request<ScrollPoints>,
    ) -> Result<Response<ScrollResponse>, Status> {
        let request = request.into_inner();
        self.resolve(&request.collection_name)?;
        // The offset is the first id of the page.
        let first = wire::chunk(request.offset).0.as_u128();
        let after = first.checked_sub(1).map(|it| ChunkId(Uuid::from_u128(it)));
        let limit = usize::try_from(request.limit.unwrap()).unwrap();
        let page = self.vectors.list(after, limit).await.map_err(rejected)?;
        let result = wire::retrieved(&page);
        Ok(Response::new(ScrollResponse { result, ..ScrollResponse::default() }))
    }

    async fn query(
        &self,
        request: Request<QueryPoints>,
    ) -> Result<Response<QueryResponse>, Status> {
        let request = request.into_inner();
        self.resolve(&request.collection_name)?;
        let chunks = self.vectors.search(search(request)).await.map_err(rejected)?;
        let to_scored_point = |it: FoundChunk| ScoredPoint {
            id: Some(PointId::from(it.chunk.to_string())),
            score: it.score,
            ..ScoredPoint::default()
        };
        let result = chunks.into_iter().map(to_scored_point).collect();
        Ok(Response::new(QueryResponse { result, ..QueryResponse::default() }))
    }

    async fn create_field_index(
        &self,
        request: Request<CreateFieldIndexCollection>,
    ) -> Result<Response<PointsOperationResponse>, Status> {
        let request = request.into_inner();
        self.changed(&request.collection_name, request.wait)?;
        assert_eq!(request.field_name, "base");
        assert_eq!(request.field_type(), FieldType::Uuid);
        self.catalogue(|it| it.indexed += 1);
        Ok(done())
    }

    unused! {
        update_vectors(UpdatePointVectors) -> PointsOperationResponse;
        delete_vectors(DeletePointVectors) -> PointsOperationResponse;
        set_payload(SetPayloadPoints) -> PointsOperationResponse;
        overwrite_payload(SetPayloadPoints) -> PointsOperationResponse;
        delete_payload(DeletePayloadPoints) -> PointsOperationResponse;
        clear_payload(ClearPayloadPoints) -> PointsOperationResponse;
        delete_field_index(DeleteFieldIndexCollection) -> PointsOperationResponse;
        create_vector_name(CreateVectorNameRequest) -> PointsOperationResponse;
        delete_vector_name(DeleteVectorNameRequest) -> PointsOperationResponse;
        search(SearchPoints) -> SearchResponse;
        search_batch(SearchBatchPoints) -> SearchBatchResponse;
        search_groups(SearchPointGroups) -> SearchGroupsResponse;
        recommend(RecommendPoints) -> RecommendResponse;
        recommend_batch(RecommendBatchPoints) -> RecommendBatchResponse;
        recommend_groups(RecommendPointGroups) -> RecommendGroupsResponse;
        discover(DiscoverPoints) -> DiscoverResponse;
        discover_batch(DiscoverBatchPoints) -> DiscoverBatchResponse;
        count(CountPoints) -> CountResponse;
        update_batch(UpdateBatchPoints) -> UpdateBatchResponse;
        query_batch(QueryBatchPoints) -> QueryBatchResponse;
        query_groups(QueryPointGroups) -> QueryGroupsResponse;
        facet(FacetCounts) -> FacetResponse;
        search_matrix_pairs(SearchMatrixPoints) -> SearchMatrixPairsResponse;
        search_matrix_offsets(SearchMatrixPoints) -> SearchMatrixOffsetsResponse;
    }
}
