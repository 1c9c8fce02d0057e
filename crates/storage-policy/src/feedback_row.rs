//! Rows of `ai_feedback`.

use diesel::prelude::*;
use pia_kernel::{FeedbackId, UserId};
use pia_policy::{FeedbackEntry, FeedbackReport, FeedbackStatus, Rating};
use pia_storage::schema::ai_feedback;
use pia_storage::{DbError, DbInstant, DbUid};

#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = ai_feedback, treat_none_as_default_value = false)]
pub(crate) struct FeedbackRow {
    id: DbUid,
    user_id: DbUid,
    schema_version: i32,
    message_id: DbUid,
    chat_id: Option<DbUid>,
    rating: String,
    comment: Option<String>,
    answer_text: Option<String>,
    pii_tokenized: bool,
    privacy_concern: bool,
    model: Option<String>,
    answered_at: DbInstant,
    reported_at: DbInstant,
    app_version: Option<String>,
    locale: Option<String>,
    extension: String,
    received_at: DbInstant,
    pub(crate) status: String,
    note: Option<String>,
    updated_at: DbInstant,
}

impl TryFrom<FeedbackEntry> for FeedbackRow {
    type Error = DbError;

    fn try_from(entry: FeedbackEntry) -> Result<Self, DbError> {
        let FeedbackEntry { id, user, report, received_at, status, note, updated_at } = entry;
        let extension = serde_json::to_string(&report.extension)
            .map_err(|_unwritable| DbError::Unreadable("ai_feedback.extension"))?;
        Ok(Self {
            id: DbUid(id.0),
            user_id: DbUid(user.0),
            schema_version: report.schema_version,
            message_id: DbUid(report.message_id),
            chat_id: report.chat_id.map(DbUid),
            rating: report.rating.name().to_owned(),
            comment: report.comment,
            answer_text: report.answer_text,
            pii_tokenized: report.pii_tokenized,
            privacy_concern: report.privacy_concern,
            model: report.model,
            answered_at: DbInstant(report.answered_at),
            reported_at: DbInstant(report.reported_at),
            app_version: report.app_version,
            locale: report.locale,
            extension,
            received_at: DbInstant(received_at),
            status: status.name().to_owned(),
            note,
            updated_at: DbInstant(updated_at),
        })
    }
}

impl TryFrom<FeedbackRow> for FeedbackEntry {
    type Error = DbError;

    fn try_from(row: FeedbackRow) -> Result<Self, DbError> {
        let rating =
            Rating::from_name(&row.rating).ok_or(DbError::Unreadable("ai_feedback.rating"))?;
        let status = FeedbackStatus::from_name(&row.status)
            .ok_or(DbError::Unreadable("ai_feedback.status"))?;
        let extension = serde_json::from_str(&row.extension)
            .map_err(|_unreadable| DbError::Unreadable("ai_feedback.extension"))?;
        Ok(Self {
            id: FeedbackId(row.id.0),
            user: UserId(row.user_id.0),
            report: FeedbackReport {
                schema_version: row.schema_version,
                message_id: row.message_id.0,
                chat_id: row.chat_id.map(|it| it.0),
                rating,
                comment: row.comment,
                answer_text: row.answer_text,
                pii_tokenized: row.pii_tokenized,
                privacy_concern: row.privacy_concern,
                model: row.model,
                answered_at: row.answered_at.0,
                reported_at: row.reported_at.0,
                app_version: row.app_version,
                locale: row.locale,
                extension,
            },
            received_at: row.received_at.0,
            status,
            note: row.note,
            updated_at: row.updated_at.0,
        })
    }
}
