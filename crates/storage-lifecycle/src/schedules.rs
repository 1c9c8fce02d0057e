//! Schedules of an account's assignments, and their export on one page.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_kernel::{ExportPage, Unavailable, UserId};
use pia_sealing::Sealer;
use pia_storage::schema::assignment_schedules;
use pia_storage::{Database, DbInstant, DbUid, on_user_rows};
use serde::Serialize;
use serde_json::Value;

use crate::assignments::open;
use crate::export_section::{ExportSection, single_page};
use crate::inventory::{ErasurePolicy, InventoryTable, OWN_ID};
use crate::sections::to_json;

pub(crate) const SCHEDULES: ExportSection = ExportSection {
    name: "assignment-schedules",
    columns: &[
        "id",
        "skill_name",
        "cron",
        "time_zone",
        "catch_up",
        "next_at",
        "last_due_at",
        "last_assignment_id",
        "last_skip",
        "created_at",
        "updated_at",
        "input",
    ],
    read: |data, user, _| Box::pin(schedules_of(&data.db, &data.sealer, user)),
};

pub(crate) const SCHEDULE_TABLE: InventoryTable = InventoryTable {
    name: "assignment_schedules",
    erasure: ErasurePolicy::Delete,
    export: Some(SCHEDULES),
    left_out: &[("user_id", OWN_ID)],
};

#[derive(Queryable, Selectable, Serialize)]
#[diesel(table_name = assignment_schedules)]
#[serde(rename_all = "camelCase")]
struct ScheduleRow {
    id: DbUid,
    skill_name: String,
    cron: String,
    time_zone: String,
    catch_up: String,
    next_at: Option<DbInstant>,
    last_due_at: Option<DbInstant>,
    last_assignment_id: Option<DbUid>,
    last_skip: Option<String>,
    created_at: DbInstant,
    updated_at: DbInstant,
    #[serde(skip)]
    input: Vec<u8>,
}

/// Exports schedules, newest first. There are few.
async fn schedules_of(
    db: &Database,
    sealer: &Sealer,
    user: UserId,
) -> Result<ExportPage, Unavailable> {
    let query = assignment_schedules::table
        .filter(assignment_schedules::user_id.eq(DbUid(user.0)))
        .order((assignment_schedules::created_at.desc(), assignment_schedules::id.desc()));
    let rows: Vec<ScheduleRow> =
        on_user_rows!(db, user, |conn| query.select(ScheduleRow::as_select()).load(conn).await?)?;
    let seal = sealer.seal_for(user).await?;
    let export = |mut row: ScheduleRow| -> Value {
        let sealed_input = Some(std::mem::take(&mut row.input));
        let input =
            seal.as_ref().map(|it| open(it, "assignment-schedule-input", row.id, sealed_input));
        let mut exported = to_json(row);
        if let Some(fields) = exported.as_object_mut() {
            fields.insert("input".to_owned(), input.into());
        }
        exported
    };

    Ok(single_page(rows.into_iter().map(export).collect()))
}
