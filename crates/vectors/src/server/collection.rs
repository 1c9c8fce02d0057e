//! Collection of the points, which the first call creates.
//!
//! Steps: the collection, its alias, the check of its format, the index of bases.
//! Each accepts what exists already, so that instances may start at the same time.

use pia_knowledge::VECTOR_SIZE;
use qdrant_client::qdrant::{
    CollectionInfo, CreateAlias, CreateCollection, CreateCollectionBuilder,
    CreateFieldIndexCollectionBuilder, Distance, FieldType, Modifier, SparseVectorParamsBuilder,
    SparseVectorsConfigBuilder, UuidIndexParamsBuilder, VectorParamsBuilder, VectorsConfigBuilder,
    vectors_config::Config,
};
use qdrant_client::{Qdrant, QdrantError};

use super::call::{CallError, READ_TIMEOUT, WRITE_TIMEOUT, within};
use crate::format::VectorFormat;
use crate::layout::{BASE, DENSE, TERMS};
use crate::setup_error::VectorSetupError;

/// Name in every request: an alias of the collection that holds all points, so
/// that another collection can replace it at once.
pub(super) const ALIAS: &str = "pia_chunks";
/// Name of the collection that is created.
const COLLECTION: &str = "pia_chunks_v1";

/// Creates the collection if it is missing, and checks its format. Several
/// instances may do so at once.
pub(super) async fn set_up(client: &Qdrant) -> Result<(), VectorSetupError> {
    let info = match info(client, ALIAS).await? {
        Some(info) => info,
        None => create(client).await?,
    };
    format(&info).check()?;
    if info.payload_schema.contains_key(BASE) {
        return Ok(());
    }

    let index = CreateFieldIndexCollectionBuilder::new(ALIAS, BASE, FieldType::Uuid)
        .field_index_params(UuidIndexParamsBuilder::default().is_tenant(true))
        .wait(true);
    call(client.create_field_index(index)).await?;

    Ok(())
}

/// Creates the collection and its alias. What another instance has created
/// meanwhile stays unchanged.
async fn create(client: &Qdrant) -> Result<CollectionInfo, CallError> {
    if let Err(err) = call(client.create_collection(collection())).await
        && info(client, COLLECTION).await?.is_none()
    {
        return Err(err);
    }

    let alias =
        CreateAlias { collection_name: COLLECTION.to_owned(), alias_name: ALIAS.to_owned() };
    let aliased = call(client.create_alias(alias)).await;
    match (info(client, ALIAS).await?, aliased) {
        (Some(info), _) => Ok(info),
        (None, Err(err)) => Err(err),
        (None, Ok(_)) => Err(CallError::NotFound(ALIAS.to_owned())),
    }
}

fn collection() -> CreateCollection {
    let mut vectors = VectorsConfigBuilder::default();
    let size = u64::try_from(VECTOR_SIZE).unwrap_or(u64::MAX);
    vectors.add_named_vector_params(DENSE, VectorParamsBuilder::new(size, Distance::Cosine));
    let mut terms = SparseVectorsConfigBuilder::default();
    let weighted = SparseVectorParamsBuilder::default().modifier(Modifier::Idf);
    terms.add_named_vector_params(TERMS, weighted);
    CreateCollectionBuilder::new(COLLECTION)
        .vectors_config(vectors)
        .sparse_vectors_config(terms)
        .on_disk_payload(true)
        .build()
}

/// Loads the description of a collection; `None` if there is none.
async fn info(client: &Qdrant, name: &str) -> Result<Option<CollectionInfo>, CallError> {
    match within(READ_TIMEOUT, client.collection_info(name)).await {
        Ok(answer) => Ok(answer.result),
        Err(CallError::NotFound(_)) => Ok(None),
        Err(err) => Err(err),
    }
}

/// Returns the format of the points of a collection.
fn format(info: &CollectionInfo) -> VectorFormat {
    let params = info.config.as_ref().and_then(|it| it.params.as_ref());
    let vectors = params.and_then(|it| it.vectors_config.as_ref()?.config.as_ref());
    let dense = match vectors {
        Some(Config::ParamsMap(named)) => named.map.get(DENSE),
        _ => None,
    };

    let terms = params.and_then(|it| it.sparse_vectors_config.as_ref()?.map.get(TERMS));
    VectorFormat {
        dimensions: dense.map(|it| usize::try_from(it.size).unwrap_or(usize::MAX)),
        is_cosine: dense.is_some_and(|it| it.distance() == Distance::Cosine),
        has_terms: terms.is_some_and(|it| it.modifier() == Modifier::Idf),
    }
}

fn call<T>(
    call: impl Future<Output = Result<T, QdrantError>>,
) -> impl Future<Output = Result<T, CallError>> {
    within(WRITE_TIMEOUT, call)
}
