//! Ingestion of documents: extraction, cutting, embedding, indexing.
//!
//! `Ingestion::ingest_next` is called in a loop by `server/src/knowledge_worker.rs`.
//! It claims a document, and then: extracts its text and cuts it (`cut`), writes
//! contexts and embeds, batch by batch (`embed_chunks`), stores the points (`index`)
//! and publishes the document. The claim is checked by every write: a worker that
//! has lost it stops, and changes nothing.
//!
//! Failures are of three kinds: permanent ones, transient ones that are tried a few
//! times, and waits for a provider, a store or a quota, which do not count.

mod contexts;
mod tokens;

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock, LiveSetting, Timestamp, Unavailable};
use ring::digest::{SHA256, digest};

use crate::chunking::{ChunkingSettings, TextChunk, split};
use crate::ports::chunk_store::{ChunkId, IndexedChunk};
use crate::ports::context_writer::ContextWriter;
use crate::ports::embedder::{EmbedError, Embedder};
use crate::ports::ingest_queue::{
    ChunkVector, IngestClaim, IngestJob, IngestQueue, NewChunk, NewChunks, PendingChunk,
    ReservationOutcome,
};
use crate::ports::text_extractor::{ExtractError, ExtractedText, TextExtractor};
use crate::ports::vector_store::{VectorPoint, VectorStore};
use crate::terms::document_terms;
use tokens::{estimate, share};

/// Maximum number of chunks of a document.
const MAX_CHUNKS: usize = 50_000;
/// Number of points that are stored in one call of the vector store.
pub(crate) const POINTS_PER_WRITE: usize = 256;
/// Delay while a provider or a store is unavailable.
const OUTAGE_DELAY: Duration = Duration::from_secs(30);
/// Delay while the owner has used up the tokens of the month. It is the time after
/// which a raised quota takes effect.
const QUOTA_DELAY: Duration = Duration::from_mins(5);
/// Delay before the first repetition; each further one is twice as long.
const FIRST_DELAY: Duration = Duration::from_secs(5);
/// Maximum delay between repetitions, unless the provider requests a longer one.
const MAX_DELAY: Duration = Duration::from_hours(1);
/// Maximum delay that is granted to a provider.
const MAX_REQUESTED_DELAY: Duration = Duration::from_hours(24);

/// Settings of ingestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IngestionSettings {
    /// Sizes of chunks; a change applies to documents that are cut later.
    pub chunking: ChunkingSettings,
    /// Number of attempts after which a document has failed.
    pub max_attempts: u32,
    /// Duration of a claim. It is extended before each step, none of which may
    /// take longer.
    pub lease: Duration,
    /// Monthly tokens of groups without a setting of their own.
    pub default_monthly_tokens: i64,
}

/// Worker that ingests documents. Any number may run on one database.
#[derive(Clone)]
pub struct Ingestion {
    /// Queue of the documents.
    pub queue: Arc<dyn IngestQueue>,
    /// Extractor of their texts, which parses hostile files.
    pub extractor: Arc<dyn TextExtractor>,
    /// Model that embeds their chunks.
    pub embedder: Arc<dyn Embedder>,
    /// Model that writes their contexts; `None` embeds them without.
    pub context_writer: Option<Arc<dyn ContextWriter>>,
    /// Store of the vectors.
    pub vectors: Arc<dyn VectorStore>,
    /// Settings; a change applies to the next document.
    pub settings: LiveSetting<IngestionSettings>,
    /// Clock of claims and delays.
    pub clock: Arc<dyn Clock>,
}

/// Outcome of a call for the next document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IngestionOutcome {
    /// Document was due. It is ingested, has failed or waits: its row says which.
    Attempted,
    /// No document is due.
    NothingDue,
}

/// Claim of a document, with the time when it was extended last.
struct Lease {
    claim: IngestClaim,
    extended_at: Timestamp,
}

/// Reasons why a document was not ingested.
#[derive(Debug)]
enum IngestError {
    /// Another worker has the document, or its content has changed.
    Lost,
    /// Document cannot be ingested as it is.
    Permanent(String),
    /// Document may be ingested later; after several attempts it has failed.
    Transient(String),
    /// Document waits for something else.
    Postponed {
        reason: String,
        /// Delay, if it is known.
        delay: Option<Duration>,
    },
}

impl From<Unavailable> for IngestError {
    fn from(err: Unavailable) -> Self {
        tracing::warn!(error = %err, "a document could not be ingested at present");
        let reason = "The database or the vector store is unavailable.".to_owned();
        Self::Postponed { reason, delay: None }
    }
}

impl From<EmbedError> for IngestError {
    fn from(err: EmbedError) -> Self {
        match err {
            EmbedError::Unavailable { ref retry_after, .. } => {
                Self::Postponed { reason: err.to_string(), delay: *retry_after }
            }
            EmbedError::Rejected(_) => Self::Permanent(err.to_string()),
        }
    }
}

impl Ingestion {
    /// Ingests the document that is due next. Computes for up to seconds between
    /// two waits: call it on a thread that may block.
    ///
    /// A step that was completed is not repeated after a crash: chunks and
    /// vectors are stored as they are made, and tokens are charged with the
    /// vectors that they pay for.
    pub async fn ingest_next(&self) -> Result<IngestionOutcome, Unavailable> {
        let Some(job) = self.queue.claim(self.clock.now(), self.settings.get().lease).await? else {
            return Ok(IngestionOutcome::NothingDue);
        };
        // A claim that expired counts as a failure: the document may have crashed its workers.
        if job.failures >= self.settings.get().max_attempts {
            let reason = "The server stopped too often while it ingested the document.";
            self.queue.fail(job.claim, reason, None).await?;
            return Ok(IngestionOutcome::Attempted);
        }

        match self.ingest(&job).await {
            // The worker that has a lost claim now records the outcome.
            Ok(()) | Err(IngestError::Lost) => {}
            Err(IngestError::Permanent(reason)) => {
                self.queue.fail(job.claim, &reason, None).await?;
            }
            Err(IngestError::Transient(reason)) => {
                let is_last = job.failures.saturating_add(1) >= self.settings.get().max_attempts;
                let retry_at = (!is_last).then(|| self.clock.now() + delay(job.failures));
                self.queue.fail(job.claim, &reason, retry_at).await?;
            }
            Err(IngestError::Postponed { reason, delay }) => {
                let bounded_delay =
                    delay.unwrap_or(OUTAGE_DELAY).clamp(FIRST_DELAY, MAX_REQUESTED_DELAY);
                let retry_at = self.clock.now() + bounded_delay;
                self.queue.postpone(job.claim, &reason, retry_at).await?;
            }
        }

        Ok(IngestionOutcome::Attempted)
    }

    async fn ingest(&self, job: &IngestJob) -> Result<(), IngestError> {
        let model = job.model.clone().unwrap_or_else(|| self.embedder.model());
        let mut lease = Lease { claim: job.claim, extended_at: self.clock.now() };
        // Chunks of an earlier attempt are used again, with the vectors that they have.
        if job.split_for.as_ref() != Some(&model) {
            let chunks = self.cut(job, &mut lease).await?;
            let content = NewChunks {
                model: model.clone(),
                needs_contexts: self.context_writer.is_some(),
                chunks,
            };
            ensure_held(self.queue.put_chunks(job.claim, content).await?)?;
        }

        self.embed_chunks(job, &model, &mut lease).await?;

        let mut point_ids = Vec::new();
        let outcome = self.finish(&mut lease, &mut point_ids).await;
        if outcome.is_err() {
            // The document may have been deleted, and its points too, before the
            // last of them were stored.
            self.queue.discard(&point_ids).await?;
        }

        outcome
    }

    /// Stores the points of all chunks and publishes the document.
    async fn finish(
        &self,
        lease: &mut Lease,
        point_ids: &mut Vec<ChunkId>,
    ) -> Result<(), IngestError> {
        self.index(lease, point_ids).await?;
        ensure_held(self.queue.publish(lease.claim).await?)
    }

    /// Extracts the text of a document and cuts it.
    async fn cut(&self, job: &IngestJob, lease: &mut Lease) -> Result<Vec<NewChunk>, IngestError> {
        let outcome = self.extractor.extract(job.content_type, job.content.clone()).await;
        let text = outcome.map_err(|err| match err {
            ExtractError::Unavailable => IngestError::Transient(err.to_string()),
            _ => IngestError::Permanent(err.to_string()),
        })?;

        self.extend(lease).await?;
        let chunking = self.settings.get().chunking;
        let chunks = cut_text(&job.title, &text, chunking);
        if chunks.is_empty() {
            return Err(IngestError::Permanent(ExtractError::NoText.to_string()));
        }
        if chunks.len() > MAX_CHUNKS {
            return Err(IngestError::Permanent(ExtractError::TooComplex.to_string()));
        }

        Ok(chunks)
    }

    /// Embeds the chunks that have no vector yet, batch by batch.
    async fn embed_chunks(
        &self,
        job: &IngestJob,
        model: &str,
        lease: &mut Lease,
    ) -> Result<(), IngestError> {
        loop {
            self.extend(lease).await?;
            let pending_chunks = self.queue.pending(job.claim, self.embedder.batch_size()).await?;
            if pending_chunks.is_empty() {
                return Ok(());
            }

            // Contexts are part of what is embedded, so they are written first.
            let without_context = self.chunks_without_context(&pending_chunks);
            if without_context.is_empty() {
                self.embed_batch(job, model, &pending_chunks).await?;
            } else {
                self.write_contexts(job, &pending_chunks, &without_context).await?;
            }
        }
    }

    async fn embed_batch(
        &self,
        job: &IngestJob,
        model: &str,
        pending_chunks: &[PendingChunk],
    ) -> Result<(), IngestError> {
        let texts: Vec<String> = pending_chunks
            .iter()
            .map(|it| {
                let context = it.context.as_deref().unwrap_or_default();
                embedded_text(&job.title, &[&it.path, context], &it.text)
            })
            .collect();
        let lengths: Vec<usize> = texts.iter().map(String::len).collect();
        // The provider bills the call even if its vectors are not stored.
        self.reserve(job.claim, estimate(&lengths)).await?;
        let embedding = self.embedder.embed(model, texts).await?;
        let tokens = share(embedding.tokens, &lengths);
        let vectors = pending_chunks
            .iter()
            .zip(embedding.into_vectors(pending_chunks.len())?)
            .zip(tokens)
            .map(|((chunk, dense), tokens)| ChunkVector { chunk: chunk.id, dense, tokens })
            .collect();
        ensure_held(self.queue.put_vectors(job.claim, vectors, self.clock.now()).await?)
    }

    /// Reserves tokens out of the quota of the owner.
    async fn reserve(&self, claim: IngestClaim, tokens: i64) -> Result<(), IngestError> {
        let quota = self.settings.get().default_monthly_tokens;
        let now = self.clock.now();
        match self.queue.reserve(claim, tokens, quota, now).await? {
            ReservationOutcome::Done => Ok(()),
            ReservationOutcome::Lost => Err(IngestError::Lost),
            ReservationOutcome::QuotaExceeded => {
                let reason = "The group's embedding tokens of this month are used up.".to_owned();
                Err(IngestError::Postponed { reason, delay: Some(QUOTA_DELAY) })
            }
        }
    }

    /// Extends a lease of which a quarter has passed: every extension is a commit.
    async fn extend(&self, lease: &mut Lease) -> Result<(), IngestError> {
        let now = self.clock.now();
        let duration = self.settings.get().lease;
        if now < lease.extended_at + duration / 4 {
            return Ok(());
        }
        ensure_held(self.queue.extend(lease.claim, now + duration).await?)?;
        lease.extended_at = now;
        Ok(())
    }

    /// Stores the points of all chunks and checks that the store has them.
    /// `point_ids` receives the chunks whose points may have been stored.
    async fn index(
        &self,
        lease: &mut Lease,
        point_ids: &mut Vec<ChunkId>,
    ) -> Result<(), IngestError> {
        let mut from = 0;
        loop {
            self.extend(lease).await?;
            let chunks = self.queue.load_embedded(lease.claim, from, POINTS_PER_WRITE).await?;
            if chunks.is_empty() {
                return Ok(());
            }

            from += i32::try_from(chunks.len()).unwrap_or(i32::MAX);
            let ids: Vec<ChunkId> = chunks.iter().map(|it| it.id).collect();
            point_ids.extend(&ids);
            self.vectors.put(chunks.into_iter().map(point).collect()).await?;
            if self.vectors.existing(&ids).await?.len() != ids.len() {
                let reason = "The vector store did not store all chunks.";
                return Err(IngestError::Transient(reason.to_owned()));
            }
        }
    }
}

/// Returns the point of a chunk. Its terms are those of what is embedded.
pub(crate) fn point(chunk: IndexedChunk) -> VectorPoint {
    let above = [chunk.path.as_str(), &chunk.context];
    let terms = document_terms(&embedded_text(&chunk.title, &above, &chunk.text));
    VectorPoint { chunk: chunk.id, base: chunk.base, dense: chunk.dense, terms }
}

/// Fails with [`IngestError::Lost`] if a claim was lost.
fn ensure_held(is_held: bool) -> Result<(), IngestError> {
    if is_held { Ok(()) } else { Err(IngestError::Lost) }
}

/// Returns the delay after a number of failures.
fn delay(failures: u32) -> Duration {
    FIRST_DELAY.saturating_mul(2_u32.saturating_pow(failures)).min(MAX_DELAY)
}

fn cut_text(title: &str, text: &ExtractedText, settings: ChunkingSettings) -> Vec<NewChunk> {
    let to_new_chunk = |(ordinal, chunk): (i32, TextChunk)| {
        let mut hash = [0; 32];
        let text_to_embed = embedded_text(title, &[&chunk.path], &chunk.text);
        hash.copy_from_slice(digest(&SHA256, text_to_embed.as_bytes()).as_ref());
        NewChunk { id: ChunkId::generate(), ordinal, path: chunk.path, text: chunk.text, hash }
    };
    (0..).zip(split(text, settings)).map(to_new_chunk).collect()
}

/// Returns the text that is embedded for a chunk: a passage alone rarely says
/// what it is about.
fn embedded_text(title: &str, above: &[&str], text: &str) -> String {
    let above: Vec<&str> =
        [title].iter().chain(above).copied().filter(|it| !it.is_empty()).collect();
    format!("{}\n\n{text}", above.join("\n"))
}

#[cfg(test)]
mod tests;
