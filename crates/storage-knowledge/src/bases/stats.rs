//! Numbers of a base.

use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::Timestamp;
use pia_knowledge::{BaseStats, DocumentStatus, GroupQuotas, KnowledgeBase};
use pia_storage::schema::{knowledge_bases, knowledge_documents, knowledge_usage};
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};

use crate::document_row::parse_status;
use crate::month::month;
use crate::quotas::{LoadGroupUsage, sum};

/// Sums of the documents of a base.
type SumsRow = (Option<i64>, Option<i64>, Option<i64>, Option<i64>);

/// Loads the numbers of a base.
pub(super) async fn load(
    db: &Database,
    base: &KnowledgeBase,
    now: Timestamp,
    defaults: GroupQuotas,
) -> Result<BaseStats, DbError> {
    let id = DbUid(base.id.0);
    let owner = DbUid(base.owner.0);
    let documents = knowledge_documents::table.filter(knowledge_documents::base_id.eq(id));
    let by_status = documents
        .group_by(knowledge_documents::status)
        .select((knowledge_documents::status, count_star()));

    let sums = documents.select((
        sum("size_bytes"),
        sum("chunk_count"),
        sum("tokens"),
        sum("retrieval_count"),
    ));

    let last = documents
        .order(knowledge_documents::last_retrieved_at.desc())
        .filter(knowledge_documents::last_retrieved_at.is_not_null())
        .select(knowledge_documents::last_retrieved_at);

    let misses = knowledge_bases::table
        .find(id)
        .select((knowledge_bases::miss_count, knowledge_bases::last_missed_at));

    let usage = knowledge_usage::table
        .filter(knowledge_usage::base_id.eq(id))
        .filter(knowledge_usage::month.eq(month(now)))
        .select(sum("tokens"));

    let (by_status, sums, last, misses, usage, limits) = on_conn!(db.reader(), |conn| {
        let by_status: Vec<(String, i64)> = by_status.load(conn).await?;
        let sums: SumsRow = sums.first(conn).await?;
        let last: Option<Option<DbInstant>> = last.first(conn).await.optional()?;
        let misses: Option<(i64, Option<DbInstant>)> = misses.first(conn).await.optional()?;
        let usage: Option<i64> = usage.first(conn).await?;
        (by_status, sums, last, misses, usage, conn.group_limits(owner, defaults).await?)
    })?;

    let (miss_count, last_missed_at) = misses.unwrap_or_default();
    let mut stats = BaseStats {
        size_bytes: sums.0.unwrap_or_default(),
        byte_limit: limits.bytes,
        document_limit: limits.documents,
        chunk_count: sums.1.unwrap_or_default(),
        indexed_tokens: sums.2.unwrap_or_default(),
        retrieval_count: sums.3.unwrap_or_default(),
        last_retrieved_at: last.flatten().map(|it| it.0),
        miss_count,
        last_missed_at: last_missed_at.map(|it| it.0),
        embedding_tokens_this_month: usage.unwrap_or_default(),
        ..BaseStats::default()
    };

    for (status, count) in by_status {
        *match parse_status(&status)? {
            DocumentStatus::Pending => &mut stats.pending,
            DocumentStatus::Processing => &mut stats.processing,
            DocumentStatus::Ready => &mut stats.ready,
            DocumentStatus::Failed => &mut stats.failed,
        } = count;
    }

    Ok(stats)
}
