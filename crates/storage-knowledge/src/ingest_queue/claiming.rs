//! Claiming of documents that are due for ingestion.
//!
//! Order: `due` reads candidates without a lock, `try_claim` takes one by a guarded
//! update, and `job` loads it. Bases take turns, since the one that was served
//! longest ago is first.

use diesel::dsl::case_when;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{GroupId, KnowledgeBaseId};
use pia_knowledge::{DocumentStatus, IngestClaim, IngestJob};
use pia_storage::schema::{knowledge_bases, knowledge_documents, knowledge_files};
use pia_storage::{DbError, DbInstant, DbUid, in_tx, on_conn};

use super::SqlIngestQueue;
use crate::document_row::parse_type;
use crate::publication::BaseModels;

/// Number of due documents that are loaded together, so that a worker that loses
/// the race for the first one still gets another.
const AT_ONCE: i64 = 16;

/// Document that is due for ingestion.
#[derive(Debug, Clone, Copy, Queryable)]
pub(super) struct DueDocument {
    pub(super) id: DbUid,
    /// Number of the last claim.
    pub(super) fence: i64,
    pub(super) base: DbUid,
}

/// Columns of a claimed document, of its base and of its file.
#[derive(Queryable)]
struct ClaimedRow {
    title: String,
    content_type: String,
    failures: i32,
    /// Model for which the stored chunks were made.
    new_model: Option<String>,
    owner: DbUid,
    models: BaseModels,
    content: Vec<u8>,
}

impl SqlIngestQueue {
    /// Loads documents that are due, in the order in which they are served.
    pub(super) async fn due(&self, now: DbInstant) -> Result<Vec<DueDocument>, DbError> {
        let due_query = knowledge_documents::table
            .inner_join(knowledge_bases::table)
            .filter(knowledge_documents::due_at.le(now))
            .order((
                knowledge_bases::served_at,
                knowledge_documents::due_at,
                knowledge_documents::id,
            ))
            .select((
                knowledge_documents::id,
                knowledge_documents::fence,
                knowledge_documents::base_id,
            ))
            .limit(AT_ONCE);

        on_conn!(self.db.reader(), |conn| due_query.load(conn).await?)
    }

    /// Claims a document by a statement that succeeds only while nobody else has
    /// claimed it.
    pub(super) async fn try_claim(
        &self,
        document: DueDocument,
        now: DbInstant,
        until: DbInstant,
    ) -> Result<bool, DbError> {
        let free_document = knowledge_documents::table
            .find(document.id)
            .filter(knowledge_documents::fence.eq(document.fence))
            .filter(knowledge_documents::due_at.le(now));

        let claim_columns = (
            // A due document that is being processed has an expired claim: a failure.
            knowledge_documents::failures.eq(case_when(
                knowledge_documents::status.eq(DocumentStatus::Processing.name()),
                knowledge_documents::failures + 1,
            )
            .otherwise(knowledge_documents::failures)),
            knowledge_documents::status.eq(DocumentStatus::Processing.name()),
            knowledge_documents::fence.eq(document.fence + 1),
            knowledge_documents::due_at.eq(Some(until)),
            knowledge_documents::reserved_tokens.eq(0),
        );

        in_tx!(self.db, async |conn| -> Result<bool, DbError> {
            if diesel::update(free_document).set(claim_columns).execute(conn).await? == 0 {
                return Ok(false);
            }
            let base = knowledge_bases::table.find(document.base);
            let serving_time = knowledge_bases::served_at.eq(now);
            diesel::update(base).set(serving_time).execute(conn).await?;
            Ok(true)
        })
    }

    /// Loads a claimed document; `None` if the claim was lost meanwhile.
    pub(super) async fn job(
        &self,
        claim: IngestClaim,
        base: DbUid,
    ) -> Result<Option<IngestJob>, DbError> {
        let claimed_document = of_claim!(claim)
            .inner_join(knowledge_bases::table)
            .inner_join(
                knowledge_files::table.on(knowledge_files::document_id.eq(knowledge_documents::id)),
            )
            .select((
                knowledge_documents::title,
                knowledge_documents::content_type,
                knowledge_documents::failures,
                knowledge_documents::new_model,
                knowledge_bases::group_id,
                (knowledge_bases::model, knowledge_bases::reindex_model),
                knowledge_files::content,
            ));

        let row: Option<ClaimedRow> =
            on_conn!(self.db.reader(), |conn| claimed_document.first(conn).await.optional()?)?;
        let Some(row) = row else { return Ok(None) };

        Ok(Some(IngestJob {
            claim,
            base: KnowledgeBaseId(base.0),
            owner: GroupId(row.owner.0),
            title: row.title,
            content_type: parse_type(&row.content_type)?,
            content: row.content,
            failures: u32::try_from(row.failures).unwrap_or_default(),
            model: row.models.target().cloned(),
            split_for: row.new_model,
        }))
    }
}
