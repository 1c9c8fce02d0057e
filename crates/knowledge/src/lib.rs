//! Knowledge bases: documents that members' chats are answered from.
//!
//! A document is stored, cut into chunks, embedded, and published once a search
//! finds it. The database holds everything, vectors included; the vector store
//! is an index over it that can be rebuilt at any time.
//!
//! A document passes three use cases. `Documents` checks and stores it, and queues
//! it; `Ingestion`, in the background, does the rest up to its publication;
//! `Retrieval` searches what is published. Read `Ingestion::ingest_next` and
//! `Retrieval::search` first. `Reconciliation` repairs the index, and
//! `KnowledgeBases` decides who owns and who searches a base.

mod base;
mod bases;
mod chunking;
mod document;
mod documents;
mod draft;
mod error;
#[cfg(test)]
mod fakes;
mod hashed_embedder;
mod ingestion;
mod ports;
mod questions;
mod reconciliation;
mod retrieval;
mod terms;

pub use base::{BaseAccess, BaseDraft, BaseRef, BaseStats, KnowledgeBase, KnowledgeBaseEntry};
pub use bases::KnowledgeBases;
pub use chunking::{ChunkingSettings, TextChunk, split};
pub use document::{
    CitedDocument, Document, DocumentColumn, DocumentContent, DocumentFilter, DocumentRef,
    DocumentStatus, IngestionProgress, Submission, document_url,
};
pub use documents::Documents;
pub use draft::{ContentDraft, ContentType, DocumentDraft, DraftError, MAX_CONTENT_BYTES};
pub use error::KnowledgeError;
pub use hashed_embedder::HashedEmbedder;
pub use ingestion::{Ingestion, IngestionOutcome, IngestionSettings};
pub use ports::base_store::{BaseChangeOutcome, BaseStore, GroupQuotas};
pub use ports::chunk_store::{ChunkId, ChunkStore, IndexedChunk, StoredPassage};
pub use ports::context_writer::{ContextRequest, ContextWriter, WrittenContext};
pub use ports::document_store::{
    ContentChange, DocumentStore, DocumentStoreOutcome, KnowledgeQuota, NewContent,
};
pub use ports::embedder::{EmbedError, Embedder, Embedding, VECTOR_SIZE};
pub use ports::ingest_queue::{
    ChunkContext, ChunkVector, IngestClaim, IngestJob, IngestQueue, NewChunk, NewChunks,
    PendingChunk, ReservationOutcome,
};
pub use ports::question_log::QuestionLog;
pub use ports::reranker::Reranker;
pub use ports::text_extractor::{ExtractError, ExtractedText, TextExtractor};
pub use ports::vector_store::{FoundChunk, VectorPoint, VectorQuery, VectorStore};
pub use questions::{MAX_QUESTIONS, UnansweredQuestion, UnansweredQuestions};
pub use reconciliation::{Reconciliation, Repaired, VerifiedChunks};
pub use retrieval::{
    MAX_SEARCH_TIME, MissingModels, Passage, Question, Retrieval, RetrievalError,
    RetrievalSettings, SearchedBase,
};
pub use terms::{TermWeight, document_terms, query_terms};

#[cfg(any(test, feature = "mock"))]
pub use ports::{
    base_store::MockBaseStore, chunk_store::MockChunkStore, context_writer::MockContextWriter,
    document_store::MockDocumentStore, embedder::MockEmbedder, ingest_queue::MockIngestQueue,
    question_log::MockQuestionLog, reranker::MockReranker, vector_store::MockVectorStore,
};
