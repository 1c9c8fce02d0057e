//! Quotas of a group for its documents, and the tokens that it has used.
//!
//! Callers lock the group first (`lock_group`), so that two changes cannot use the
//! same rest of a quota. Used tokens are those charged in the month and those
//! reserved by documents that are being ingested.

use diesel::dsl::{count_star, sql};
use diesel::expression::SqlLiteral;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable};
use diesel_async::RunQueryDsl;
use pia_knowledge::{GroupQuotas, KnowledgeQuota};
use pia_storage::schema::{
    group_settings, knowledge_bases, knowledge_documents, knowledge_usage, user_groups,
};
use pia_storage::{DbError, DbUid, connection_trait, lock_row};

/// Usage and limits of a group, whose row is locked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupUsage {
    pub(crate) limits: GroupQuotas,
    documents: i64,
    bytes: i64,
    /// Tokens that were embedded in the month.
    tokens: i64,
    /// Tokens that are reserved for documents that are being ingested.
    reserved: i64,
}

impl GroupUsage {
    /// Returns the quota that a document would exceed: `documents` more, `bytes`
    /// more, which may be negative if it is replaced.
    pub(crate) fn exceeded_quota(&self, documents: i64, bytes: i64) -> Option<KnowledgeQuota> {
        let quota = |resource, limit, current| KnowledgeQuota { resource, limit, current };
        let document_quota =
            quota("KnowledgeDocuments", self.limits.documents, self.documents + documents);
        let byte_quota = quota("KnowledgeStorageBytes", self.limits.bytes, self.bytes + bytes);
        let token_quota =
            quota("MonthlyEmbeddingTokens", self.limits.monthly_tokens, self.tokens + 1);

        [(documents > 0, document_quota), (bytes > 0, byte_quota), (true, token_quota)]
            .into_iter()
            .find(|(is_growing, quota)| *is_growing && quota.current > quota.limit)
            .map(|(_, quota)| quota)
    }

    /// Returns whether these tokens may be reserved.
    pub(crate) fn has_tokens(&self, tokens: i64) -> bool {
        self.tokens + self.reserved + tokens <= self.limits.monthly_tokens
    }
}

/// Returns the sum of a column of numbers. Diesel's own has no type that both
/// databases return.
pub(crate) fn sum(column: &str) -> SqlLiteral<Nullable<BigInt>> {
    sql(&format!("CAST(SUM({column}) AS BIGINT)"))
}

/// Limits of a group; `None` stands for the default.
#[derive(Default, Queryable)]
struct OwnLimits {
    bases: Option<i64>,
    documents: Option<i64>,
    bytes: Option<i64>,
    monthly_tokens: Option<i64>,
}

connection_trait! {
    /// Use of the quotas of a group.
    pub(crate) trait LoadGroupUsage {
        /// Locks a group's row until the commit, so that changes of its documents
        /// are serialised.
        async fn lock_group(&mut self, group: DbUid) -> Result<(), DbError> {
            lock_row!(self, user_groups::table.find(group), user_groups::name);
            Ok(())
        }

        /// Loads the limits of a group.
        async fn group_limits(
            &mut self,
            group: DbUid,
            defaults: GroupQuotas,
        ) -> Result<GroupQuotas, DbError> {
            let row: Option<OwnLimits> = group_settings::table
                .find(group)
                .select((
                    group_settings::knowledge_bases,
                    group_settings::knowledge_documents,
                    group_settings::knowledge_storage_bytes,
                    group_settings::monthly_embedding_tokens,
                ))
                .first(self)
                .await
                .optional()?;
            let own_limits = row.unwrap_or_default();
            Ok(GroupQuotas {
                bases: own_limits.bases.unwrap_or(defaults.bases),
                documents: own_limits.documents.unwrap_or(defaults.documents),
                bytes: own_limits.bytes.unwrap_or(defaults.bytes),
                monthly_tokens: own_limits.monthly_tokens.unwrap_or(defaults.monthly_tokens),
            })
        }

        /// Charges tokens to the base of a document and its owner.
        async fn charge_document(
            &mut self,
            document: DbUid,
            month: i32,
            tokens: i64,
        ) -> Result<(), DbError> {
            let (owner, base): (DbUid, DbUid) = knowledge_documents::table
                .find(document)
                .inner_join(knowledge_bases::table)
                .select((knowledge_bases::group_id, knowledge_bases::id))
                .first(self)
                .await?;
            let charge = (
                knowledge_usage::group_id.eq(owner),
                knowledge_usage::base_id.eq(base),
                knowledge_usage::month.eq(month),
                knowledge_usage::tokens.eq(tokens),
            );

            diesel::insert_into(knowledge_usage::table)
                .values(charge)
                .on_conflict((
                    knowledge_usage::group_id,
                    knowledge_usage::month,
                    knowledge_usage::base_id,
                ))
                .do_update()
                .set(knowledge_usage::tokens.eq(knowledge_usage::tokens + tokens))
                .execute(self)
                .await?;

            Ok(())
        }

        /// Loads the usage of a group in this month.
        async fn group_usage(
            &mut self,
            group: DbUid,
            month: i32,
            defaults: GroupQuotas,
        ) -> Result<GroupUsage, DbError> {
            let limits = self.group_limits(group, defaults).await?;
            let documents = knowledge_documents::table
                .inner_join(knowledge_bases::table)
                .filter(knowledge_bases::group_id.eq(group));

            let sums = (
                count_star(),
                sum("knowledge_documents.size_bytes"),
                sum("knowledge_documents.reserved_tokens"),
            );
            let (count, bytes, reserved): (i64, Option<i64>, Option<i64>) =
                documents.select(sums).first(self).await?;

            let tokens: Option<i64> = knowledge_usage::table
                .filter(knowledge_usage::group_id.eq(group))
                .filter(knowledge_usage::month.eq(month))
                .select(sum("knowledge_usage.tokens"))
                .first(self)
                .await?;

            Ok(GroupUsage {
                limits,
                documents: count,
                bytes: bytes.unwrap_or_default(),
                tokens: tokens.unwrap_or_default(),
                reserved: reserved.unwrap_or_default(),
            })
        }
    }
}
