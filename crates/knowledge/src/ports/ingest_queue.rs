//! Port of the queue that feeds ingestion; implemented in `storage-knowledge`.
//!
//! Order of the calls for one document: `claim`, `put_chunks`, then in a loop
//! `pending`, `reserve` and `put_contexts` or `put_vectors`, then `load_embedded`
//! page by page, and `publish`. An attempt that does not succeed ends with `fail` or
//! `postpone`, and with `discard` if points may have been stored.
//!
//! The fence of a claim is its guard: claiming, failing, deleting or changing a
//! document increments the number, after which an older claim matches no row.

use std::time::Duration;

use async_trait::async_trait;
use pia_kernel::{DocumentId, GroupId, KnowledgeBaseId, Timestamp, Unavailable};

use super::chunk_store::{ChunkId, IndexedChunk};
use crate::draft::ContentType;

/// Queue of the documents that wait to be ingested.
///
/// Every method with a claim checks it in the transaction of its change, and
/// returns false or [`ReservationOutcome::Lost`] if it was lost.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait IngestQueue: Send + Sync {
    /// Claims a document that is due and unclaimed: of the base that was served
    /// longest ago, the one that waits longest. A claim that expired counts as a
    /// failure, and its reserved tokens are released.
    async fn claim(
        &self,
        now: Timestamp,
        lease: Duration,
    ) -> Result<Option<IngestJob>, Unavailable>;

    /// Releases all claims. Call it only where no other worker can run.
    async fn release_all(&self, now: Timestamp) -> Result<(), Unavailable>;

    /// Extends a claim, so that no other worker takes the document until then.
    async fn extend(&self, claim: IngestClaim, until: Timestamp) -> Result<bool, Unavailable>;

    /// Stores the chunks of a document's new content beside the published ones,
    /// with the contexts of published chunks that have the same hash. They also
    /// get the vectors of these, if the model is the same, and they have a context
    /// or need none.
    async fn put_chunks(&self, claim: IngestClaim, new: NewChunks) -> Result<bool, Unavailable>;

    /// Loads the first chunks of the new content that have no vector.
    async fn pending(
        &self,
        claim: IngestClaim,
        limit: usize,
    ) -> Result<Vec<PendingChunk>, Unavailable>;

    /// Reserves tokens out of the owner's quota of the month.
    async fn reserve(
        &self,
        claim: IngestClaim,
        tokens: i64,
        default_quota: i64,
        now: Timestamp,
    ) -> Result<ReservationOutcome, Unavailable>;

    /// Returns the beginning of the new content, up to a few thousand characters.
    async fn beginning(&self, claim: IngestClaim) -> Result<String, Unavailable>;

    /// Stores the contexts of chunks with the tokens of their calls, which are
    /// charged instead of those that were reserved.
    async fn put_contexts(
        &self,
        claim: IngestClaim,
        contexts: Vec<ChunkContext>,
        now: Timestamp,
    ) -> Result<bool, Unavailable>;

    /// Stores the vectors of chunks with their tokens, which are charged instead
    /// of those that were reserved.
    async fn put_vectors(
        &self,
        claim: IngestClaim,
        vectors: Vec<ChunkVector>,
        now: Timestamp,
    ) -> Result<bool, Unavailable>;

    /// Loads chunks of the new content, with their vectors, by position from
    /// `from`.
    async fn load_embedded(
        &self,
        claim: IngestClaim,
        from: i32,
        limit: usize,
    ) -> Result<Vec<IndexedChunk>, Unavailable>;

    /// Queues the points of these chunks for removal, except of chunks that
    /// exist. Call it if a claim may have been lost while they were stored.
    async fn discard(&self, chunks: &[ChunkId]) -> Result<(), Unavailable>;

    /// Makes the new content the one that searches find, and the document
    /// `Ready`. Points of the previous content are queued for removal. The first
    /// document determines the model of its base; for another model this returns
    /// false, and the document starts over.
    ///
    /// While the base is indexed again, the content is held instead. Once no
    /// document that searches find is waited for, all that is held is published,
    /// and the base has its new model: also if the last one failed or was deleted.
    /// A document that failed keeps its previous content, unless that is of
    /// another model.
    async fn publish(&self, claim: IngestClaim) -> Result<bool, Unavailable>;

    /// Releases a claim: the document is tried again at `retry_at`, for this
    /// reason, which is not its fault.
    async fn postpone(
        &self,
        claim: IngestClaim,
        reason: &str,
        retry_at: Timestamp,
    ) -> Result<bool, Unavailable>;

    /// Releases a claim: the document has failed for this reason, and is tried
    /// again at `retry_at`, if at all.
    async fn fail(
        &self,
        claim: IngestClaim,
        reason: &str,
        retry_at: Option<Timestamp>,
    ) -> Result<bool, Unavailable>;
}

/// Claim of a document by a worker. One that was lost changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IngestClaim {
    /// Document that the worker ingests.
    pub document: DocumentId,
    /// Number of the claim: each claim of a document, and each change of its
    /// content, has the next one.
    pub fence: i64,
}

/// Document to be ingested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngestJob {
    /// Claim that the worker holds.
    pub claim: IngestClaim,
    /// Base of the document.
    pub base: KnowledgeBaseId,
    /// Group that owns the base, and is charged.
    pub owner: GroupId,
    /// Title, which is embedded with each chunk.
    pub title: String,
    /// Type of the file.
    pub content_type: ContentType,
    /// File as it was stored.
    pub content: Vec<u8>,
    /// Number of attempts that failed, or whose worker disappeared, since the
    /// last batch was embedded, or got its contexts.
    pub failures: u32,
    /// Model that embeds the chunks: the base's current model, or the next one while
    /// the base is indexed again; `None` if the base has none yet.
    pub model: Option<String>,
    /// Model for which the chunks of this content were stored, if they were.
    pub split_for: Option<String>,
}

/// Chunk to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewChunk {
    /// Id, also that of its point in the vector store.
    pub id: ChunkId,
    /// Position in the document, from 0.
    pub ordinal: i32,
    /// Headings above the chunk, the outermost first, joined by ` › `.
    pub path: String,
    /// Text, without headings.
    pub text: String,
    /// SHA-256 of what is embedded, without the context.
    pub hash: [u8; 32],
}

/// Chunks of a document's new content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewChunks {
    /// Model that embeds them.
    pub model: String,
    /// True if none is embedded without a context.
    pub needs_contexts: bool,
    /// Chunks in the order of the document.
    pub chunks: Vec<NewChunk>,
}

/// Chunk that waits for its vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingChunk {
    /// Id, also that of its point.
    pub id: ChunkId,
    /// Position in the document, from 0.
    pub ordinal: i32,
    /// Headings above the chunk.
    pub path: String,
    /// Text, without headings and context.
    pub text: String,
    /// Context, if it was written.
    pub context: Option<String>,
}

/// Context of a chunk, to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkContext {
    /// Chunk that the context is about.
    pub chunk: ChunkId,
    /// Context; empty if the model wrote none.
    pub text: String,
    /// Tokens of the call that wrote it.
    pub tokens: i64,
}

/// Vector of a chunk, to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct ChunkVector {
    /// Chunk that was embedded.
    pub chunk: ChunkId,
    /// Vector of [`VECTOR_SIZE`](crate::VECTOR_SIZE) numbers, of length 1.
    pub dense: Vec<f32>,
    /// Tokens that were embedded.
    pub tokens: i64,
}

/// Outcome of reserving tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReservationOutcome {
    /// Tokens are reserved until contexts or vectors are stored, or the claim
    /// ends.
    Done,
    /// Group would exceed its tokens of the month.
    QuotaExceeded,
    /// Claim was lost, so nothing is reserved.
    Lost,
}
