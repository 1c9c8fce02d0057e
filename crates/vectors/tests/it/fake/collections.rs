//! Calls of the fake server that are about collections.

use std::collections::HashMap;

use ::qdrant_client::qdrant::alias_operations::Action;
use ::qdrant_client::qdrant::collections_server::Collections;
use ::qdrant_client::qdrant::*;
use tonic::{Request, Response, Status};

use super::Qdrant;
use super::unused::unused;

#[tonic::async_trait]
impl Collections for Qdrant {
    async fn get(
        &self,
        request: Request<GetCollectionInfoRequest>,
    ) -> Result<Response<GetCollectionInfoResponse>, Status> {
        let name = request.into_inner().collection_name;
        let info = self.catalogue(|it| {
            let name = it.aliases.get(&name).unwrap_or(&name);
            it.collections.get(name).map(|found| info(found, it.indexed > 0))
        });
        let info = info.ok_or_else(|| Status::not_found(format!("`{name}` doesn't exist")))?;
        Ok(Response::new(GetCollectionInfoResponse { result: Some(info), time: 0.0 }))
    }

    async fn create(
        &self,
        request: Request<CreateCollection>,
    ) -> Result<Response<CollectionOperationResponse>, Status> {
        let collection = request.into_inner();
        let name = collection.collection_name.clone();
        self.catalogue(|it| {
            if it.collections.contains_key(&name) {
                return Err(Status::invalid_argument(format!("`{name}` already exists")));
            }
            it.collections.insert(name, collection);
            Ok(Response::new(CollectionOperationResponse { result: true, time: 0.0 }))
        })
    }

    async fn update_aliases(
        &self,
        request: Request<ChangeAliases>,
    ) -> Result<Response<CollectionOperationResponse>, Status> {
        self.catalogue(|it| {
            for change in request.into_inner().actions {
                let Some(Action::CreateAlias(alias)) = change.action else {
                    return Err(Status::invalid_argument("not the creation of an alias"));
                };
                it.aliases.insert(alias.alias_name, alias.collection_name);
            }
            Ok(Response::new(CollectionOperationResponse { result: true, time: 0.0 }))
        })
    }

    unused! {
        list(ListCollectionsRequest) -> ListCollectionsResponse;
        update(UpdateCollection) -> CollectionOperationResponse;
        delete(DeleteCollection) -> CollectionOperationResponse;
        list_collection_aliases(ListCollectionAliasesRequest) -> ListAliasesResponse;
        list_aliases(ListAliasesRequest) -> ListAliasesResponse;
        collection_cluster_info(CollectionClusterInfoRequest) -> CollectionClusterInfoResponse;
        collection_exists(CollectionExistsRequest) -> CollectionExistsResponse;
        update_collection_cluster_setup(UpdateCollectionClusterSetupRequest) -> UpdateCollectionClusterSetupResponse;
        create_shard_key(CreateShardKeyRequest) -> CreateShardKeyResponse;
        delete_shard_key(DeleteShardKeyRequest) -> DeleteShardKeyResponse;
        list_shard_keys(ListShardKeysRequest) -> ListShardKeysResponse;
    }
}

/// Returns the description of a collection.
fn info(collection: &CreateCollection, is_indexed: bool) -> CollectionInfo {
    let params = CollectionParams {
        vectors_config: collection.vectors_config.clone(),
        sparse_vectors_config: collection.sparse_vectors_config.clone(),
        ..CollectionParams::default()
    };
    let config = CollectionConfig { params: Some(params), ..CollectionConfig::default() };
    let index = is_indexed.then(|| ("base".to_owned(), PayloadSchemaInfo::default()));
    CollectionInfo {
        config: Some(config),
        payload_schema: HashMap::from_iter(index),
        ..CollectionInfo::default()
    }
}
