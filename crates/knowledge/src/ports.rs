//! Ports of this domain, by noun.

pub(crate) mod base_store;
pub(crate) mod chunk_store;
pub(crate) mod context_writer;
pub(crate) mod document_store;
pub(crate) mod embedder;
pub(crate) mod ingest_queue;
pub(crate) mod question_log;
pub(crate) mod reranker;
pub(crate) mod text_extractor;
pub(crate) mod vector_store;
