//! Configuration of the engine, and the check of what a folder has.
//!
//! A folder of another format is refused rather than converted, since the index can
//! be built again from the database.

use std::path::Path;

use pia_knowledge::VECTOR_SIZE;
use qdrant_edge::{
    CreateIndex, Distance, EdgeConfig, EdgeOptimizersConfig, EdgeSparseVectorParams,
    EdgeVectorParams, FieldIndexOperations, JsonPath, Modifier, OperationError, PayloadFieldSchema,
    PayloadSchemaType, UpdateOperation,
};

use crate::format::VectorFormat;
use crate::layout::{BASE, DENSE, TERMS};
use crate::setup_error::VectorSetupError;

/// Returns the configuration of a shard.
pub(super) fn config() -> EdgeConfig {
    let dense = EdgeVectorParams::builder(VECTOR_SIZE, Distance::Cosine).on_disk(true).build();
    let terms = EdgeSparseVectorParams::builder().modifier(Modifier::Idf).build();
    // Zero: no graph is built, since that takes minutes in which nothing else can
    // be written.
    let optimizers =
        EdgeOptimizersConfig { indexing_threshold: Some(0), ..EdgeOptimizersConfig::default() };
    EdgeConfig::builder()
        .vector(DENSE, dense)
        .sparse_vector(TERMS, terms)
        .optimizers(optimizers)
        .build()
}

/// Checks that a folder has no vectors, or those of the format of this version.
pub(super) fn check(folder: &Path) -> Result<(), VectorSetupError> {
    let Some(loaded) = EdgeConfig::load(folder) else { return Ok(()) };
    let config = loaded.map_err(|err| VectorSetupError::Engine(err.to_string()))?;
    let dense = config.vectors.get(DENSE);
    let terms = config.sparse_vectors.get(TERMS);
    let format = VectorFormat {
        dimensions: dense.map(|it| it.size),
        is_cosine: dense.is_some_and(|it| it.distance == Distance::Cosine),
        has_terms: terms.is_some_and(|it| it.modifier == Some(Modifier::Idf)),
    };
    format.check()
}

/// Returns the field of the base.
pub(super) fn base_field() -> Result<JsonPath, OperationError> {
    JsonPath::try_from(BASE)
        .map_err(|()| OperationError::service_error("the field of the base is no path"))
}

/// Returns the creation of the index of bases.
pub(super) fn base_index() -> Result<UpdateOperation, OperationError> {
    let index = CreateIndex {
        field_name: base_field()?,
        field_schema: Some(PayloadFieldSchema::FieldType(PayloadSchemaType::Uuid)),
    };
    Ok(UpdateOperation::FieldIndexOperation(FieldIndexOperations::CreateIndex(index)))
}
