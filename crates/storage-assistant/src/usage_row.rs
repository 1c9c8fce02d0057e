//! A call's usage as the database keeps it.

use diesel::prelude::*;
use pia_assistant::UsageRecord;
use pia_storage::schema::ai_usage;
use pia_storage::{DbInstant, DbUid};

/// The longest name of a model that is kept.
const LONGEST_MODEL: usize = 256;

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
}

pia_storage::insert_all! {
    UsageRow => ai_usage,
}

impl From<&UsageRecord> for UsageRow {
    fn from(usage: &UsageRecord) -> Self {
        // The one part that comes from outside. PostgreSQL takes no NUL in a
        // text, and one row that is refused would hold up its whole batch.
        let model = usage.model.chars().filter(|it| *it != '\0').take(LONGEST_MODEL);
        Self {
            id: DbUid(usage.id),
            at: DbInstant(usage.at),
            user_id: DbUid(usage.user.0),
            mode: usage.mode.name(),
            provider: usage.provider,
            model: model.collect(),
            input_tokens: usage.tokens.input,
            cached_input_tokens: usage.tokens.cached_input,
            output_tokens: usage.tokens.output,
            estimated: usage.estimated,
            outcome: usage.outcome.name(),
        }
    }
}
