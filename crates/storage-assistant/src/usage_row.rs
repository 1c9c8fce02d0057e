//! Row of a call's usage.
//!
//! SQLite inserts it as it is. PostgreSQL's statement lists the columns once more (`Usage`
//! and `INSERT_USAGE` in `booking/postgres.rs`).

use diesel::prelude::*;
use pia_assistant::UsageRecord;
use pia_storage::schema::ai_usage;
use pia_storage::{DbInstant, DbUid};

/// Maximum length of a stored model name or entry id, in characters.
const MAX_NAME_CHARS: usize = 256;

/// Row of a call's usage. Every column has a value, so that the statement is prepared once.
#[derive(Debug, Clone, Insertable)]
#[diesel(table_name = ai_usage, treat_none_as_default_value = false)]
pub(crate) struct UsageRow {
    pub(crate) id: DbUid,
    pub(crate) at: DbInstant,
    pub(crate) user_id: DbUid,
    pub(crate) mode: &'static str,
    pub(crate) provider: &'static str,
    pub(crate) model: String,
    pub(crate) input_tokens: i64,
    pub(crate) cached_input_tokens: i64,
    pub(crate) output_tokens: i64,
    pub(crate) estimated: bool,
    pub(crate) outcome: &'static str,
    pub(crate) group_id: Option<DbUid>,
    pub(crate) api_key_id: Option<DbUid>,
    pub(crate) entry_id: Option<String>,
    pub(crate) connector_tokens: i64,
    pub(crate) input_rate: i64,
    pub(crate) output_rate: i64,
    pub(crate) cached_input_rate: i64,
    pub(crate) connector_rate: i64,
    pub(crate) spent_micros: i64,
    pub(crate) duration_millis: i64,
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
            model: sanitize_name(&usage.model),
            input_tokens: usage.tokens.input,
            cached_input_tokens: usage.tokens.cached_input,
            output_tokens: usage.tokens.output,
            estimated: usage.estimated,
            outcome: usage.outcome.name(),
            group_id: Some(DbUid(usage.group.0)),
            api_key_id: usage.key.map(|it| DbUid(it.0)),
            entry_id: usage.entry.as_deref().map(sanitize_name),
            connector_tokens: usage.tokens.connector,
            input_rate: rate(usage.rates.input),
            output_rate: rate(usage.rates.output),
            cached_input_rate: rate(usage.rates.cached_input),
            connector_rate: rate(usage.rates.connector),
            spent_micros: usage.spent.0,
            duration_millis: i64::try_from(usage.duration.as_millis()).unwrap_or(i64::MAX),
        }
    }
}

/// Sanitizes a name from outside. PostgreSQL accepts no NUL in a text, and one
/// invalid row would block its batch.
fn sanitize_name(text: &str) -> String {
    text.chars().filter(|it| *it != '\0').take(MAX_NAME_CHARS).collect()
}
