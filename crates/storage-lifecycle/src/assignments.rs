//! Assignments of an account, and their export as far as the server can read
//! them.
//!
//! Contents are sealed under the user's key; those that cannot be opened any more are
//! `null`. Each assignment contains its events.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{Cursor, ExportPage, Unavailable, UserId};
use pia_sealing::{PersonSeal, SealContext, Sealer};
use pia_storage::schema::{assignment_events, assignments};
use pia_storage::{Database, DbInstant, DbUid, on_user_rows};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::export_section::{ExportSection, page_of};
use crate::inventory::{
    BOOKKEEPING, ELSEWHERE, ErasurePolicy, InventoryTable, OWN_ID, SHORT_LIVED,
};
use crate::schedules::SCHEDULE_TABLE;
use crate::sections::{ExportedRow, to_json};

/// Number of assignments per page of the export: each may be long.
const PAGE: i64 = 10;

pub(crate) const ASSIGNMENTS: ExportSection = ExportSection {
    name: "assignments",
    columns: &[
        "id",
        "skill_name",
        "mode",
        "status",
        "step_count",
        "tokens_spent",
        "tokens_abandoned",
        "created_at",
        "updated_at",
        "started_at",
        "completed_at",
        "plaintext_dropped_at",
        "error_code",
        "error_message",
        "input",
        "artifact_json",
        "artifact_text",
    ],
    read: |data, user, after| Box::pin(read_page(&data.db, &data.sealer, user, after)),
};

/// Events, which are exported with their assignments.
const ASSIGNMENT_EVENTS: ExportSection = ExportSection {
    columns: &["id", "kind", "message", "sealed_message", "detail", "created_at"],
    ..ASSIGNMENTS
};

/// Tables of assignments.
pub(crate) const ASSIGNMENT_TABLES: &[InventoryTable] = &[
    InventoryTable {
        name: "assignments",
        erasure: ErasurePolicy::Delete,
        export: Some(ASSIGNMENTS),
        left_out: &[
            ("user_id", OWN_ID),
            ("due_at", BOOKKEEPING),
            ("worker_id", BOOKKEEPING),
            ("fence", BOOKKEEPING),
            ("failed_attempts", BOOKKEEPING),
            ("restarts", BOOKKEEPING),
            ("event_count", BOOKKEEPING),
            ("tools", ELSEWHERE),
            ("skill", "the instructions of the operator, which are not yours"),
            ("outputs", SHORT_LIVED),
        ],
    },
    InventoryTable {
        name: "assignment_events",
        erasure: ErasurePolicy::Delete,
        export: Some(ASSIGNMENT_EVENTS),
        left_out: &[("assignment_id", ELSEWHERE), ("ordinal", ELSEWHERE), ("key", BOOKKEEPING)],
    },
    SCHEDULE_TABLE,
    InventoryTable {
        name: "assignment_workers",
        erasure: ErasurePolicy::NotPersonal("which processes of the server are running"),
        export: None,
        left_out: &[
            ("id", BOOKKEEPING),
            ("host", BOOKKEEPING),
            ("started_at", BOOKKEEPING),
            ("alive_until", BOOKKEEPING),
        ],
    },
    InventoryTable {
        name: "operators",
        erasure: ErasurePolicy::NotPersonal("what administrators grant to groups"),
        export: None,
        left_out: &[
            ("id", BOOKKEEPING),
            ("name", BOOKKEEPING),
            ("skill", BOOKKEEPING),
            ("skill_name_folded", BOOKKEEPING),
            ("is_custom", BOOKKEEPING),
            ("is_active", BOOKKEEPING),
            ("updated_at", BOOKKEEPING),
            ("webhook_url", BOOKKEEPING),
            ("webhook_secret", BOOKKEEPING),
        ],
    },
    InventoryTable {
        name: "webhook_deliveries",
        erasure: ErasurePolicy::Delete,
        export: None,
        left_out: &[
            ("id", BOOKKEEPING),
            ("user_id", OWN_ID),
            ("operator_id", BOOKKEEPING),
            ("created_at", ELSEWHERE),
            ("next_at", BOOKKEEPING),
            ("delivered_at", BOOKKEEPING),
            ("attempts", BOOKKEEPING),
            ("failure", BOOKKEEPING),
            ("payload", ELSEWHERE),
        ],
    },
    InventoryTable {
        name: "operator_groups",
        erasure: ErasurePolicy::NotPersonal("which groups may use an operator"),
        export: None,
        left_out: &[("operator_id", BOOKKEEPING), ("group_id", BOOKKEEPING)],
    },
];

#[derive(Queryable, Selectable, Serialize)]
#[diesel(table_name = assignments)]
#[serde(rename_all = "camelCase")]
struct AssignmentRow {
    id: DbUid,
    skill_name: String,
    mode: String,
    status: String,
    step_count: i32,
    tokens_spent: i64,
    tokens_abandoned: i64,
    created_at: DbInstant,
    updated_at: DbInstant,
    started_at: Option<DbInstant>,
    completed_at: Option<DbInstant>,
    plaintext_dropped_at: Option<DbInstant>,
    error_code: Option<String>,
    #[serde(skip)]
    error_message: Option<Vec<u8>>,
    #[serde(skip)]
    input: Option<Vec<u8>>,
    #[serde(skip)]
    artifact_json: Option<Vec<u8>>,
    #[serde(skip)]
    artifact_text: Option<Vec<u8>>,
}

#[derive(Queryable, Selectable, Serialize)]
#[diesel(table_name = assignment_events)]
#[serde(rename_all = "camelCase")]
struct EventRow {
    id: DbUid,
    kind: String,
    created_at: DbInstant,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(skip)]
    assignment_id: DbUid,
    #[serde(skip)]
    sealed_message: Option<Vec<u8>>,
}

/// Exports assignments with their contents and events, newest first.
async fn read_page(
    db: &Database,
    sealer: &Sealer,
    user: UserId,
    after: Option<Cursor>,
) -> Result<ExportPage, Unavailable> {
    let after = after.unwrap_or_else(Cursor::top);
    let at = DbInstant(after.at);
    let id = DbUid(after.id);
    let created_at = assignments::created_at;
    let is_after_cursor = created_at.le(at).and(created_at.lt(at).or(assignments::id.lt(id)));
    let page = assignments::table
        .filter(assignments::user_id.eq(DbUid(user.0)).and(is_after_cursor))
        .order((assignments::created_at.desc(), assignments::id.desc()))
        .limit(PAGE);

    let (rows, mut events) = on_user_rows!(db, user, |conn| {
        let rows: Vec<AssignmentRow> = page.select(AssignmentRow::as_select()).load(conn).await?;
        let ids: Vec<DbUid> = rows.iter().map(|it| it.id).collect();
        let events: Vec<EventRow> = assignment_events::table
            .filter(assignment_events::assignment_id.eq_any(ids))
            .order((assignment_events::assignment_id, assignment_events::ordinal))
            .select(EventRow::as_select())
            .load(conn)
            .await?;
        (rows, events)
    })?;

    if rows.is_empty() {
        return Ok(ExportPage::default());
    }
    let Some(seal) = sealer.seal_for(user).await? else { return Ok(ExportPage::default()) };

    let export = |row: AssignmentRow| {
        let own_events = events.extract_if(.., |it| it.assignment_id == row.id).collect();
        row.export(own_events, &seal)
    };

    Ok(page_of(rows.into_iter().map(export).collect(), PAGE))
}

impl AssignmentRow {
    fn export(mut self, events: Vec<EventRow>, seal: &PersonSeal) -> ExportedRow {
        let cursor = Cursor { at: self.created_at.0, id: self.id.0 };

        let contents = [
            ("errorMessage", "assignment-error", self.error_message.take()),
            ("input", "assignment-input", self.input.take()),
            ("artifactJson", "assignment-artifact-json", self.artifact_json.take()),
            ("artifactText", "assignment-artifact-text", self.artifact_text.take()),
        ];

        let id = self.id;
        let opened =
            contents.map(|(name, purpose, it)| (name.to_owned(), open(seal, purpose, id, it)));
        let events: Vec<Value> = events.into_iter().map(|it| it.export(seal)).collect();
        let mut exported = to_json(self);
        if let Some(fields) = exported.as_object_mut() {
            fields.extend(Map::from_iter(opened));
            fields.insert("events".to_owned(), events.into());
        }

        (cursor, exported)
    }
}

impl EventRow {
    fn export(mut self, seal: &PersonSeal) -> Value {
        let sealed_message = self.sealed_message.take();
        if let Value::String(message) = open(seal, "assignment-event", self.id, sealed_message) {
            self.message = Some(message);
        }
        to_json(self)
    }
}

/// Opens a text; `null` if there is none, or it was sealed under an abandoned key
/// and cannot be read any more.
pub(crate) fn open(seal: &PersonSeal, purpose: &str, row: DbUid, sealed: Option<Vec<u8>>) -> Value {
    let context = SealContext { purpose, row: row.0.as_bytes() };
    sealed
        .and_then(|it| seal.open_long(context, it).ok())
        .and_then(|it| String::from_utf8(it.reveal()).ok())
        .map_or(Value::Null, Value::String)
}
