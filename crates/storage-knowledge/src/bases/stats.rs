//! Numbers of a base: sums over its documents, its usage, and the owner's limits.

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

/// Sums of the documents of a base; `None` if it has no documents.
#[derive(Queryable)]
struct SumsRow {
    size_bytes: Option<i64>,
    chunk_count: Option<i64>,
    tokens: Option<i64>,
    retrieval_count: Option<i64>,
}

/// Questions that a base had no passages for.
#[derive(Default, Queryable)]
struct MissesRow {
    count: i64,
    last_at: Option<DbInstant>,
}

/// Results of the queries; `None` if one has no row, or its row no value.
struct Numbers {
    by_status: Vec<(String, i64)>,
    sums: SumsRow,
    last_retrieval: Option<DbInstant>,
    misses: Option<MissesRow>,
    /// Tokens of this month.
    usage: Option<i64>,
    limits: GroupQuotas,
}

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
    let status_query = documents
        .group_by(knowledge_documents::status)
        .select((knowledge_documents::status, count_star()));

    let sums_query = documents.select((
        sum("size_bytes"),
        sum("chunk_count"),
        sum("tokens"),
        sum("retrieval_count"),
    ));

    let retrieval_query = documents
        .order(knowledge_documents::last_retrieved_at.desc())
        .filter(knowledge_documents::last_retrieved_at.is_not_null())
        .select(knowledge_documents::last_retrieved_at);

    let misses_query = knowledge_bases::table
        .find(id)
        .select((knowledge_bases::miss_count, knowledge_bases::last_missed_at));

    let usage_query = knowledge_usage::table
        .filter(knowledge_usage::base_id.eq(id))
        .filter(knowledge_usage::month.eq(month(now)))
        .select(sum("tokens"));

    let numbers = on_conn!(db.reader(), |conn| Numbers {
        by_status: status_query.load(conn).await?,
        sums: sums_query.first(conn).await?,
        last_retrieval: retrieval_query
            .first::<Option<DbInstant>>(conn)
            .await
            .optional()?
            .flatten(),
        misses: misses_query.first(conn).await.optional()?,
        usage: usage_query.first(conn).await?,
        limits: conn.group_limits(owner, defaults).await?,
    })?;
    numbers.into_stats()
}

impl Numbers {
    fn into_stats(self) -> Result<BaseStats, DbError> {
        let Self { by_status, sums, last_retrieval, misses, usage, limits } = self;
        let MissesRow { count: miss_count, last_at } = misses.unwrap_or_default();
        let mut stats = BaseStats {
            size_bytes: sums.size_bytes.unwrap_or_default(),
            byte_limit: limits.bytes,
            document_limit: limits.documents,
            chunk_count: sums.chunk_count.unwrap_or_default(),
            indexed_tokens: sums.tokens.unwrap_or_default(),
            retrieval_count: sums.retrieval_count.unwrap_or_default(),
            last_retrieved_at: last_retrieval.map(|it| it.0),
            miss_count,
            last_missed_at: last_at.map(|it| it.0),
            embedding_tokens_this_month: usage.unwrap_or_default(),
            ..BaseStats::default()
        };

        for (status, count) in by_status {
            match parse_status(&status)? {
                DocumentStatus::Pending => stats.pending = count,
                DocumentStatus::Processing => stats.processing = count,
                DocumentStatus::Ready => stats.ready = count,
                DocumentStatus::Failed => stats.failed = count,
            }
        }

        Ok(stats)
    }
}
