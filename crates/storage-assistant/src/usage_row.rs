//! A call's usage as the database keeps it.

use diesel::prelude::*;
use pia_assistant::UsageRecord;
use pia_storage::schema::ai_usage;
use pia_storage::{DbInstant, DbUid};

/// The longest name of a model, or id of an entry, that is kept.
const LONGEST_NAME: usize = 256;

#[derive(Debug, Clone, Insertable)]
#[diesel(table_name = ai_usage)]
pub(crate) struct UsageRow {
    pub(crate) id: DbUid,
    at: DbInstant,
    user_id: DbUid,
    mode: &'static str,
    provider: &'static str,
    model: String,
    input_tokens: i64,
    cached_input_tokens: i64,
    output_tokens: i64,
    estimated: bool,
    outcome: &'static str,
    group_id: Option<DbUid>,
    api_key_id: Option<DbUid>,
    entry_id: Option<String>,
    connector_tokens: i64,
    input_rate: i64,
    output_rate: i64,
    cached_input_rate: i64,
    connector_rate: i64,
    spent_micros: i64,
}

pia_storage::insert_all! {
    UsageRow => ai_usage,
}

impl From<&UsageRecord> for UsageRow {
    fn from(usage: &UsageRecord) -> Self {
        let rate = |it| i64::try_from(it).unwrap_or(i64::MAX);
        Self {
            id: DbUid(usage.id),
            at: DbInstant(usage.at),
            user_id: DbUid(usage.user.0),
            mode: usage.mode.name(),
            provider: usage.provider,
            model: name(&usage.model),
            input_tokens: usage.tokens.input,
            cached_input_tokens: usage.tokens.cached_input,
            output_tokens: usage.tokens.output,
            estimated: usage.estimated,
            outcome: usage.outcome.name(),
            group_id: Some(DbUid(usage.group.0)),
            api_key_id: usage.key.map(|it| DbUid(it.0)),
            entry_id: usage.entry.as_deref().map(name),
            connector_tokens: usage.tokens.connector,
            input_rate: rate(usage.rates.input),
            output_rate: rate(usage.rates.output),
            cached_input_rate: rate(usage.rates.cached_input),
            connector_rate: rate(usage.rates.connector),
            spent_micros: usage.spent.0,
        }
    }
}

/// What comes from outside. PostgreSQL takes no NUL in a text, and one row that
/// is refused would hold up its whole batch.
fn name(text: &str) -> String {
    text.chars().filter(|it| *it != '\0').take(LONGEST_NAME).collect()
}
