//! Reports of a user on answers.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{Cursor, UserId};
use pia_storage::schema::ai_feedback;
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use serde::Serialize;

use crate::export_section::{ExportSection, cursor_page};
use crate::inventory::{ErasurePolicy, InventoryTable, OWN_ID};
use crate::sections::{ExportedRow, PAGE, section, to_json};

pub(crate) const AI_FEEDBACK_TABLE: InventoryTable = InventoryTable {
    name: "ai_feedback",
    erasure: ErasurePolicy::Delete,
    export: Some(AI_FEEDBACK),
    left_out: &[("user_id", OWN_ID), ("note", "what administrators note for themselves")],
};

section! {
    AI_FEEDBACK "aiFeedback", ai_feedback_of: ai_feedback of user_id by received_at,
    FeedbackRow {
        id: DbUid,
        received_at: DbInstant,
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
        status: String,
        updated_at: DbInstant,
    }
}
