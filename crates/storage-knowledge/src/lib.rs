//! Knowledge bases in SQL: bases, documents, the queue of their ingestion, their
//! chunks, and unanswered questions.
//!
//! Read `ingest_queue.rs` first. A document has published chunks and, while new
//! content is ingested, unpublished ones beside them (`chunk_rows.rs`); publication
//! (`publication.rs`) deletes the former and publishes the latter in one transaction.
//! `new_content.rs` starts an ingestion, `reindexing.rs` that of all documents of a
//! base. Macros of `scope.rs` limit every query of a caller to its bases.

#[macro_use]
mod scope;

mod bases;
mod chunk_rows;
mod chunks;
mod document_row;
mod documents;
mod ingest_queue;
mod month;
mod new_content;
mod publication;
mod questions;
mod quotas;
mod reindexing;
mod removal;
mod vector_bytes;
mod vector_update;

pub use bases::SqlKnowledgeBases;
pub use chunks::SqlChunks;
pub use documents::SqlDocuments;
pub use ingest_queue::SqlIngestQueue;
pub use questions::SqlQuestionLog;
