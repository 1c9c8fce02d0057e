//! Rows of `group_settings`, one column per quota and JSON for maps and lists.

use std::collections::BTreeMap;

use diesel::prelude::*;
use pia_kernel::{CreditLimits, GroupId};
use pia_policy::{GroupSettings, Quota};
use pia_storage::schema::group_settings;
use pia_storage::{DbError, DbUid};

#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = group_settings, treat_none_as_null = true)]
pub(crate) struct SettingsRow {
    group_id: DbUid,
    knowledge_bases: Option<i64>,
    knowledge_documents: Option<i64>,
    knowledge_storage_bytes: Option<i64>,
    monthly_embedding_tokens: Option<i64>,
    managed_personas: Option<i64>,
    credits_hourly: i64,
    credits_daily: i64,
    credits_weekly: i64,
    credits_group_daily: i64,
    credits_group_weekly: i64,
    credits_pool: bool,
    mode_entries: String,
    persona_entries: String,
    models: String,
    user_storage_bytes: Option<i64>,
}

impl SettingsRow {
    pub(crate) fn new(group: GroupId, settings: &GroupSettings) -> Result<Self, DbError> {
        let unwritable = |_no_such_text| DbError::Unreadable("group_settings");
        let quota = |it| settings.quotas.get(&it).copied();
        let CreditLimits { hourly, daily, weekly, group_daily, group_weekly, pool } =
            settings.credits;
        Ok(Self {
            group_id: DbUid(group.0),
            knowledge_bases: quota(Quota::KnowledgeBases),
            knowledge_documents: quota(Quota::KnowledgeDocuments),
            knowledge_storage_bytes: quota(Quota::KnowledgeStorageBytes),
            monthly_embedding_tokens: quota(Quota::MonthlyEmbeddingTokens),
            managed_personas: quota(Quota::ManagedPersonas),
            credits_hourly: hourly,
            credits_daily: daily,
            credits_weekly: weekly,
            credits_group_daily: group_daily,
            credits_group_weekly: group_weekly,
            credits_pool: pool,
            mode_entries: serde_json::to_string(&settings.modes).map_err(unwritable)?,
            persona_entries: serde_json::to_string(&settings.persona_types).map_err(unwritable)?,
            models: serde_json::to_string(&settings.models).map_err(unwritable)?,
            user_storage_bytes: quota(Quota::UserStorageBytes),
        })
    }
}

impl TryFrom<SettingsRow> for GroupSettings {
    type Error = DbError;

    fn try_from(row: SettingsRow) -> Result<Self, DbError> {
        let quotas: BTreeMap<_, _> = [
            (Quota::KnowledgeBases, row.knowledge_bases),
            (Quota::KnowledgeDocuments, row.knowledge_documents),
            (Quota::KnowledgeStorageBytes, row.knowledge_storage_bytes),
            (Quota::MonthlyEmbeddingTokens, row.monthly_embedding_tokens),
            (Quota::ManagedPersonas, row.managed_personas),
            (Quota::UserStorageBytes, row.user_storage_bytes),
        ]
        .into_iter()
        .filter_map(|(quota, limit)| Some((quota, limit?)))
        .collect();

        Ok(Self {
            quotas,
            credits: CreditLimits {
                hourly: row.credits_hourly,
                daily: row.credits_daily,
                weekly: row.credits_weekly,
                group_daily: row.credits_group_daily,
                group_weekly: row.credits_group_weekly,
                pool: row.credits_pool,
            },
            modes: parse_map(&row.mode_entries, "group_settings.mode_entries")?,
            persona_types: parse_map(&row.persona_entries, "group_settings.persona_entries")?,
            models: serde_json::from_str(&row.models)
                .map_err(|_not_a_list| DbError::Unreadable("group_settings.models"))?,
        })
    }
}

fn parse_map(text: &str, column: &'static str) -> Result<BTreeMap<String, String>, DbError> {
    serde_json::from_str(text).map_err(|_no_map| DbError::Unreadable(column))
}
