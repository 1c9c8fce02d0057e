//! Queue of ingestion in memory.

use std::time::Duration;

use async_trait::async_trait;
use pia_kernel::{DocumentId, GroupId, Timestamp, Unavailable};

use super::chunk_store::to_indexed_chunk;
use super::{ChunkRow, InMemory, Rows, Step};
use crate::document::DocumentStatus;
use crate::draft::ContentType;
use crate::ports::chunk_store::{ChunkId, IndexedChunk};
use crate::ports::ingest_queue::{
    ChunkContext, ChunkVector, IngestClaim, IngestJob, IngestQueue, NewChunk, NewChunks,
    PendingChunk, ReservationOutcome,
};

#[async_trait]
impl IngestQueue for InMemory {
    async fn claim(
        &self,
        now: Timestamp,
        lease: Duration,
    ) -> Result<Option<IngestJob>, Unavailable> {
        self.run_step(Step::Claim, |state| {
            let (id, row) = state
                .rows
                .documents
                .iter_mut()
                .filter(|(_, it)| it.due_at.is_some_and(|at| at <= now))
                .min_by_key(|(_, it)| it.due_at)?;
            // The fence makes the claim before this one a lost one.
            row.status = DocumentStatus::Processing;
            row.fence += 1;
            row.due_at = Some(now + lease);
            row.reserved = 0;
            let models = state.rows.models.entry(row.base).or_default();
            Some(IngestJob {
                claim: IngestClaim { document: *id, fence: row.fence },
                base: row.base,
                owner: GroupId::generate(),
                title: row.title.clone(),
                content_type: ContentType::Markdown,
                content: row.content.clone().into_bytes(),
                failures: row.failures,
                model: models.target().cloned(),
                split_for: row.split_for.clone(),
            })
        })
    }

    async fn release_all(&self, now: Timestamp) -> Result<(), Unavailable> {
        self.run_step(Step::Other, |state| {
            for row in state.rows.documents.values_mut().filter(|it| it.due_at.is_some()) {
                row.due_at = Some(now);
                row.fence += 1;
            }
        })
    }

    async fn extend(&self, claim: IngestClaim, until: Timestamp) -> Result<bool, Unavailable> {
        self.run_step(Step::Extend, |state| {
            state.held(claim).map(|it| it.due_at = Some(until)).is_some()
        })
    }

    async fn put_chunks(&self, claim: IngestClaim, new: NewChunks) -> Result<bool, Unavailable> {
        self.run_step(Step::PutChunks, |state| {
            let Some(row) = state.held(claim) else { return false };
            row.split_for = Some(new.model.clone());
            state.remove_chunks(claim.document, false);
            let rows: Vec<ChunkRow> = new
                .chunks
                .iter()
                .map(|it| new_row(&state.rows, claim.document, &new, it))
                .collect();
            state.rows.chunks.extend(rows);
            true
        })
    }

    async fn pending(
        &self,
        claim: IngestClaim,
        limit: usize,
    ) -> Result<Vec<PendingChunk>, Unavailable> {
        self.run_step(Step::Pending, |state| {
            state
                .new_chunks(claim)
                .into_iter()
                .filter(|it| it.vector.is_none())
                .take(limit)
                .map(|it| PendingChunk {
                    id: it.new.id,
                    ordinal: it.new.ordinal,
                    path: it.new.path.clone(),
                    text: it.new.text.clone(),
                    context: it.context.clone(),
                })
                .collect()
        })
    }

    async fn reserve(
        &self,
        claim: IngestClaim,
        tokens: i64,
        default_quota: i64,
        _now: Timestamp,
    ) -> Result<ReservationOutcome, Unavailable> {
        self.run_step(Step::Reserve, |state| {
            let charged_tokens = state.rows.charged;
            let Some(row) = state.held(claim) else { return ReservationOutcome::Lost };
            row.reserved = 0;
            if charged_tokens + tokens > default_quota {
                return ReservationOutcome::QuotaExceeded;
            }
            row.reserved = tokens;
            ReservationOutcome::Done
        })
    }

    async fn beginning(&self, claim: IngestClaim) -> Result<String, Unavailable> {
        self.run_step(Step::Other, |state| {
            state.new_chunks(claim).first().map(|it| it.new.text.clone()).unwrap_or_default()
        })
    }

    async fn put_contexts(
        &self,
        claim: IngestClaim,
        contexts: Vec<ChunkContext>,
        _now: Timestamp,
    ) -> Result<bool, Unavailable> {
        self.run_step(Step::PutContexts, |state| {
            let Some(row) = state.held(claim) else { return false };
            row.failures = 0;
            row.reserved = 0;
            for context in contexts {
                state.rows.charged += context.tokens;
                let mut chunks = state.new_chunks(claim).into_iter();
                let chunk = chunks.find(|it| it.new.id == context.chunk).unwrap();
                chunk.context = Some(context.text);
            }
            true
        })
    }

    async fn put_vectors(
        &self,
        claim: IngestClaim,
        vectors: Vec<ChunkVector>,
        _now: Timestamp,
    ) -> Result<bool, Unavailable> {
        self.run_step(Step::PutVectors, |state| {
            let Some(row) = state.held(claim) else { return false };
            row.failures = 0;
            row.reserved = 0;
            for vector in vectors {
                state.rows.charged += vector.tokens;
                let mut chunks = state.new_chunks(claim).into_iter();
                let chunk = chunks.find(|it| it.new.id == vector.chunk).unwrap();
                chunk.vector = Some(vector.dense);
                chunk.tokens = vector.tokens;
            }
            true
        })
    }

    async fn load_embedded(
        &self,
        claim: IngestClaim,
        from: i32,
        limit: usize,
    ) -> Result<Vec<IndexedChunk>, Unavailable> {
        self.run_step(Step::Embedded, |state| {
            let chunks: Vec<ChunkRow> = state
                .new_chunks(claim)
                .into_iter()
                .filter(|it| it.new.ordinal >= from)
                .take(limit)
                .map(|it| it.clone())
                .collect();
            chunks.iter().map(|it| to_indexed_chunk(&state.rows, it)).collect()
        })
    }

    async fn discard(&self, chunks: &[ChunkId]) -> Result<(), Unavailable> {
        self.run_step(Step::Other, |state| {
            let is_unknown = |id: &&ChunkId| !state.rows.chunks.iter().any(|it| it.new.id == **id);
            let unknown_chunks: Vec<ChunkId> = chunks.iter().filter(is_unknown).copied().collect();
            state.rows.removed.extend(unknown_chunks);
        })
    }

    async fn publish(&self, claim: IngestClaim) -> Result<bool, Unavailable> {
        self.run_step(Step::Publish, |state| {
            let Some(row) = state.held(claim).map(|it| it.clone()) else { return false };
            let models = state.rows.models.entry(row.base).or_default();
            // Another document determined the model of the base meanwhile: this one starts over.
            if models.target().is_some_and(|it| Some(it) != row.split_for.as_ref()) {
                let row = state.rows.documents.get_mut(&claim.document).unwrap();
                row.status = DocumentStatus::Pending;
                row.fence += 1;
                row.due_at = Some(Timestamp::UNIX_EPOCH);
                return false;
            }

            // The content is held until searches can change to the new model in all documents.
            let is_reindexed = models.model.is_some() && models.reindex_model.is_some();
            if is_reindexed && (row.is_held || models.is_changing()) {
                let row = state.rows.documents.get_mut(&claim.document).unwrap();
                row.is_held = true;
                row.due_at = None;
            } else {
                models.model = models.model.take().or(row.split_for);
                state.publish_document(claim.document);
            }
            state.finish_reindex(row.base);
            true
        })
    }

    async fn postpone(
        &self,
        claim: IngestClaim,
        reason: &str,
        retry_at: Timestamp,
    ) -> Result<bool, Unavailable> {
        self.run_step(Step::Fail, |state| {
            let Some(row) = state.held(claim) else { return false };
            row.status = DocumentStatus::Pending;
            row.error = Some(reason.to_owned());
            row.due_at = Some(retry_at);
            row.fence += 1;
            row.reserved = 0;
            true
        })
    }

    async fn fail(
        &self,
        claim: IngestClaim,
        reason: &str,
        retry_at: Option<Timestamp>,
    ) -> Result<bool, Unavailable> {
        self.run_step(Step::Fail, |state| {
            let Some(row) = state.held(claim) else { return false };
            row.status = retry_at.map_or(DocumentStatus::Failed, |_| DocumentStatus::Pending);
            row.error = Some(reason.to_owned());
            row.due_at = retry_at;
            row.failures += 1;
            row.fence += 1;
            row.reserved = 0;
            let base = row.base;
            state.finish_reindex(base);
            true
        })
    }
}

/// Returns the row of a chunk of new content, with the context and, if it may be
/// used, the vector of the published chunk that is equal.
fn new_row(rows: &Rows, document: DocumentId, content: &NewChunks, new: &NewChunk) -> ChunkRow {
    let equal = rows
        .chunks
        .iter()
        .find(|it| it.document == document && it.is_published && it.new.hash == new.hash);
    let context = equal.and_then(|it| it.context.clone());
    let models = rows.models.get(&rows.documents[&document].base);
    let is_same_model = models.is_some_and(|it| it.model.as_ref() == Some(&content.model));
    let is_vector_usable = is_same_model && (context.is_some() || !content.needs_contexts);
    let (vector, tokens) = match equal {
        Some(equal) if is_vector_usable => (equal.vector.clone(), equal.tokens),
        _ => (None, 0),
    };
    ChunkRow { document, new: new.clone(), context, vector, tokens, is_published: false }
}
