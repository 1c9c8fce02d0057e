//! Queue of the documents that wait to be ingested, in SQL.
//!
//! The queue is a view of `knowledge_documents`: a row with `due_at` waits, and a
//! claim moves `due_at` to the end of the lease, so that an expired claim is due
//! again. `of_claim!` is the guard of every write: it matches only while `fence` is
//! that of the claim. Steps: `claiming.rs`, then this file, then `publishing.rs`.

/// Query of the document of a claim that is still held.
macro_rules! of_claim {
    ($claim:expr) => {
        knowledge_documents::table
            .find(DbUid($claim.document.0))
            .filter(knowledge_documents::fence.eq($claim.fence))
            .filter(knowledge_documents::due_at.is_not_null())
    };
}

/// Locks the document of a claim until the commit. Evaluates to whether the
/// claim is still held.
macro_rules! lock_claim {
    ($conn:expr, $claim:expr) => {
        lock_row!($conn, of_claim!($claim), knowledge_documents::fence)
    };
}

mod claiming;
mod publishing;

use std::time::Duration;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{DocumentId, Timestamp, Unavailable};
use pia_knowledge::{
    ChunkContext, ChunkId, ChunkVector, DocumentStatus, GroupQuotas, IndexedChunk, IngestClaim,
    IngestJob, IngestQueue, NewChunks, PendingChunk, ReservationOutcome,
};
use pia_storage::schema::{knowledge_bases, knowledge_chunks, knowledge_documents};
use pia_storage::{Database, DbError, DbInstant, DbUid, InsertAll, in_tx, lock_row, on_conn};

use crate::chunk_rows::{
    ChunkRow, CopiedVectors, CopyChunks, INDEXED, IndexedRow, PendingRow, to_indexed_chunk,
    to_pending_chunk, without_nul,
};
use crate::month::month;
use crate::publication::{AT_ONCE, PublishContent};
use crate::quotas::LoadGroupUsage;
use crate::removal::RemoveChunks;
use crate::vector_update::{VectorRow, VectorUpdate};

/// Number of chunks that are inserted at once; PostgreSQL takes 65,535 values in
/// a statement.
const CHUNKS_PER_INSERT: usize = 2_000;
/// Number of chunks of the beginning of a document.
const CHUNKS_OF_BEGINNING: i64 = 2;

/// Queue of the documents that wait to be ingested, in SQL.
#[derive(Debug, Clone)]
pub struct SqlIngestQueue {
    db: Database,
}

/// Query of the chunks of the content that a claim ingests.
macro_rules! new_chunks {
    ($claim:expr) => {
        knowledge_chunks::table
            .filter(knowledge_chunks::document_id.eq(DbUid($claim.document.0)))
            .filter(knowledge_chunks::is_published.eq(false))
    };
}

impl SqlIngestQueue {
    /// Creates the queue of the documents in `db`.
    pub fn new(db: Database) -> Self {
        Self { db }
    }
}

#[async_trait]
impl IngestQueue for SqlIngestQueue {
    async fn claim(
        &self,
        now: Timestamp,
        lease: Duration,
    ) -> Result<Option<IngestJob>, Unavailable> {
        let at = DbInstant(now);
        let until = DbInstant(now + lease);

        loop {
            let due_documents = self.due(at).await?;
            if due_documents.is_empty() {
                return Ok(None);
            }

            for document in due_documents {
                if !self.try_claim(document, at, until).await? {
                    continue;
                }
                let id = DocumentId(document.id.0);
                let claim = IngestClaim { document: id, fence: document.fence + 1 };
                if let Some(job) = self.job(claim, document.base).await? {
                    return Ok(Some(job));
                }
            }
        }
    }

    async fn release_all(&self, now: Timestamp) -> Result<(), Unavailable> {
        let claimed_documents = knowledge_documents::table
            .filter(knowledge_documents::status.eq(DocumentStatus::Processing.name()))
            .filter(knowledge_documents::due_at.is_not_null());
        let release_columns = (
            knowledge_documents::due_at.eq(Some(DbInstant(now))),
            knowledge_documents::fence.eq(knowledge_documents::fence + 1),
        );
        let release = diesel::update(claimed_documents).set(release_columns);
        on_conn!(self.db.writer(), |conn| release.execute(conn).await?)?;
        Ok(())
    }

    async fn extend(&self, claim: IngestClaim, until: Timestamp) -> Result<bool, Unavailable> {
        let until = knowledge_documents::due_at.eq(Some(DbInstant(until)));
        let extend = diesel::update(of_claim!(claim)).set(until);
        let updated_rows = on_conn!(self.db.writer(), |conn| extend.execute(conn).await?)?;
        Ok(updated_rows == 1)
    }

    async fn put_chunks(&self, claim: IngestClaim, new: NewChunks) -> Result<bool, Unavailable> {
        let document = DbUid(claim.document.0);
        let count = i64::try_from(new.chunks.len()).unwrap_or(i64::MAX);
        let rows = ChunkRow::all(document, &new.chunks);

        let model = knowledge_documents::table
            .find(document)
            .inner_join(knowledge_bases::table)
            .select(knowledge_bases::model);

        in_tx!(self.db, async |conn| {
            if !lock_claim!(conn, claim) {
                return Ok(false);
            }
            conn.remove_chunks(&[document], false).await?;
            for rows in rows.chunks(CHUNKS_PER_INSERT) {
                conn.insert_all(rows.to_vec()).await?;
            }

            let base_model: Option<String> = model.first(conn).await?;
            let is_same_model = base_model.as_ref() == Some(&new.model);
            let vectors = CopiedVectors::new(is_same_model, new.needs_contexts);
            conn.copy_chunks(document, vectors).await?;

            let embedded_count: i64 = new_chunks!(claim)
                .filter(knowledge_chunks::vector.is_not_null())
                .count()
                .get_result(conn)
                .await?;
            let content_columns = (
                knowledge_documents::new_model.eq(Some(&new.model)),
                knowledge_documents::new_chunks.eq(count),
                knowledge_documents::new_embedded.eq(embedded_count),
            );
            diesel::update(of_claim!(claim)).set(content_columns).execute(conn).await?;
            Ok(true)
        })
    }

    async fn pending(
        &self,
        claim: IngestClaim,
        limit: usize,
    ) -> Result<Vec<PendingChunk>, Unavailable> {
        let pending_query = new_chunks!(claim)
            .filter(knowledge_chunks::vector.is_null())
            .order(knowledge_chunks::ordinal)
            .select((
                knowledge_chunks::id,
                knowledge_chunks::ordinal,
                knowledge_chunks::path,
                knowledge_chunks::text,
                knowledge_chunks::context,
            ))
            .limit(i64::try_from(limit).unwrap_or(i64::MAX));
        let rows: Vec<PendingRow> =
            on_conn!(self.db.reader(), |conn| pending_query.load(conn).await?)?;
        Ok(rows.into_iter().map(to_pending_chunk).collect())
    }

    async fn reserve(
        &self,
        claim: IngestClaim,
        tokens: i64,
        default_quota: i64,
        now: Timestamp,
    ) -> Result<ReservationOutcome, Unavailable> {
        let owner =
            of_claim!(claim).inner_join(knowledge_bases::table).select(knowledge_bases::group_id);
        // Other quotas are not checked here.
        let defaults =
            GroupQuotas { bases: 0, documents: 0, bytes: 0, monthly_tokens: default_quota };
        in_tx!(self.db, async |conn| {
            let Some(owner) = owner.first::<DbUid>(conn).await.optional()? else {
                return Ok(ReservationOutcome::Lost);
            };

            conn.lock_group(owner).await?;
            // What the claim has reserved before does not count against itself.
            let no_reservation = knowledge_documents::reserved_tokens.eq(0);
            if diesel::update(of_claim!(claim)).set(no_reservation).execute(conn).await? == 0 {
                return Ok(ReservationOutcome::Lost);
            }

            let usage = conn.group_usage(owner, month(now), defaults).await?;
            if !usage.has_tokens(tokens) {
                return Ok(ReservationOutcome::QuotaExceeded);
            }

            let reservation = knowledge_documents::reserved_tokens.eq(tokens);
            let updated_rows =
                diesel::update(of_claim!(claim)).set(reservation).execute(conn).await?;

            Ok(if updated_rows == 1 { ReservationOutcome::Done } else { ReservationOutcome::Lost })
        })
    }

    async fn beginning(&self, claim: IngestClaim) -> Result<String, Unavailable> {
        let beginning = new_chunks!(claim)
            .order(knowledge_chunks::ordinal)
            .select(knowledge_chunks::text)
            .limit(CHUNKS_OF_BEGINNING);
        let texts: Vec<String> = on_conn!(self.db.reader(), |conn| beginning.load(conn).await?)?;
        Ok(texts.join("\n"))
    }

    async fn put_contexts(
        &self,
        claim: IngestClaim,
        contexts: Vec<ChunkContext>,
        now: Timestamp,
    ) -> Result<bool, Unavailable> {
        let tokens: i64 = contexts.iter().map(|it| it.tokens).sum();
        let progress =
            (knowledge_documents::failures.eq(0), knowledge_documents::reserved_tokens.eq(0));
        in_tx!(self.db, async |conn| {
            if diesel::update(of_claim!(claim)).set(progress).execute(conn).await? == 0 {
                return Ok(false);
            }

            for context in &contexts {
                let text = knowledge_chunks::context.eq(Some(without_nul(&context.text)));
                let row = knowledge_chunks::table.find(DbUid(context.chunk.0));
                diesel::update(row).set(text).execute(conn).await?;
            }

            conn.charge_document(DbUid(claim.document.0), month(now), tokens).await?;
            Ok(true)
        })
    }

    async fn put_vectors(
        &self,
        claim: IngestClaim,
        vectors: Vec<ChunkVector>,
        now: Timestamp,
    ) -> Result<bool, Unavailable> {
        let tokens: i64 = vectors.iter().map(|it| it.tokens).sum();
        let embedded_count = i64::try_from(vectors.len()).unwrap_or(i64::MAX);
        let progress = (
            knowledge_documents::failures.eq(0),
            knowledge_documents::reserved_tokens.eq(0),
            knowledge_documents::new_embedded
                .eq(knowledge_documents::new_embedded + embedded_count),
        );

        let rows: Vec<VectorRow> = vectors.iter().map(VectorRow::from).collect();

        in_tx!(self.db, async |conn| {
            if diesel::update(of_claim!(claim)).set(progress).execute(conn).await? == 0 {
                return Ok(false);
            }
            if !rows.is_empty() {
                VectorUpdate(&rows).execute(conn).await?;
            }
            conn.charge_document(DbUid(claim.document.0), month(now), tokens).await?;
            Ok(true)
        })
    }

    async fn load_embedded(
        &self,
        claim: IngestClaim,
        from: i32,
        limit: usize,
    ) -> Result<Vec<IndexedChunk>, Unavailable> {
        let chunks = new_chunks!(claim)
            .inner_join(knowledge_documents::table)
            .filter(knowledge_chunks::ordinal.ge(from))
            .order(knowledge_chunks::ordinal)
            .select(INDEXED)
            .limit(i64::try_from(limit).unwrap_or(i64::MAX));
        let rows: Vec<IndexedRow> = on_conn!(self.db.reader(), |conn| chunks.load(conn).await?)?;
        Ok(rows.into_iter().map(to_indexed_chunk).collect())
    }

    async fn discard(&self, chunks: &[ChunkId]) -> Result<(), Unavailable> {
        for chunks in chunks.chunks(AT_ONCE) {
            let ids: Vec<DbUid> = chunks.iter().map(|it| DbUid(it.0)).collect();
            in_tx!(self.db, async |conn| -> Result<(), DbError> {
                conn.discard_points(&ids).await
            })?;
        }
        Ok(())
    }

    async fn publish(&self, claim: IngestClaim) -> Result<bool, Unavailable> {
        Ok(self.publish_content(claim).await?)
    }

    async fn postpone(
        &self,
        claim: IngestClaim,
        reason: &str,
        retry_at: Timestamp,
    ) -> Result<bool, Unavailable> {
        let postponed_columns = (
            knowledge_documents::status.eq(DocumentStatus::Pending.name()),
            knowledge_documents::error.eq(Some(reason)),
            knowledge_documents::reserved_tokens.eq(0),
            knowledge_documents::fence.eq(knowledge_documents::fence + 1),
            knowledge_documents::due_at.eq(Some(DbInstant(retry_at))),
        );
        let postpone = diesel::update(of_claim!(claim)).set(postponed_columns);
        let updated_rows = on_conn!(self.db.writer(), |conn| postpone.execute(conn).await?)?;
        Ok(updated_rows == 1)
    }

    async fn fail(
        &self,
        claim: IngestClaim,
        reason: &str,
        retry_at: Option<Timestamp>,
    ) -> Result<bool, Unavailable> {
        let status = match retry_at {
            Some(_) => DocumentStatus::Pending,
            None => DocumentStatus::Failed,
        };

        let failure_columns = (
            knowledge_documents::status.eq(status.name()),
            knowledge_documents::error.eq(Some(reason)),
            knowledge_documents::failures.eq(knowledge_documents::failures + 1),
            knowledge_documents::reserved_tokens.eq(0),
            knowledge_documents::fence.eq(knowledge_documents::fence + 1),
            knowledge_documents::due_at.eq(retry_at.map(DbInstant)),
        );

        let base = knowledge_documents::table
            .find(DbUid(claim.document.0))
            .select(knowledge_documents::base_id);

        in_tx!(self.db, async |conn| {
            if diesel::update(of_claim!(claim)).set(failure_columns).execute(conn).await? == 0 {
                return Ok(false);
            }
            if retry_at.is_none() {
                // The document may be the last one that a reindexed base waits for.
                let base_id: DbUid = base.first(conn).await?;
                conn.finish_reindex(base_id).await?;
            }
            Ok(true)
        })
    }
}
