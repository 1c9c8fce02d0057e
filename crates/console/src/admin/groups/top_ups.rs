//! Latest top-ups of a group, from the audit log.

use pia_assistant::Micros;
use pia_kernel::{AuditFilter, AuditRecord, AuditSide, GroupId, PageRequest};
use pia_web::ApiError;
use serde_json::Value;

use crate::admin::audit::{side_cell, user_of};
use crate::admin::bindings::{find_emails, time_cell};
use crate::page_context::PageContext;
use crate::ui::{Cell, Row, Table, Text, format};

/// Action of the audit entries of top-ups.
pub(super) const ACTION: &str = "Group.ToppedUp";
/// Number of top-ups that are listed.
const MAX_TOP_UPS: u16 = 10;

/// Returns the table of a group's latest top-ups.
pub(super) async fn table(page: &PageContext, group: GroupId) -> Result<Table, ApiError> {
    let filter = AuditFilter {
        action: Some(ACTION.to_owned()),
        object: Some(format!("group:{group}")),
        ..AuditFilter::default()
    };
    let request = PageRequest { after: None, limit: MAX_TOP_UPS };
    let records = page.run(|api| async move { api.audit.page(&filter, request).await }).await?;
    let emails = find_emails(page, records.iter().filter_map(|it| user_of(&it.actor))).await?;

    let rows = records.iter().map(|record| {
        let by = match &record.actor {
            AuditSide::Nobody => Cell::text(page.t(COMMAND_LINE)),
            actor => side_cell(page, actor, &emails),
        };
        let credits = added_credits(record).map(|it| format::number(page.language, it));
        Row::new(vec![time_cell(page, record.at), by, Cell::number(credits.unwrap_or_default())])
    });

    Ok(Table {
        caption: page.t(TITLE).to_owned(),
        columns: [TIME, BY, CREDITS].map(|it| page.t(it).to_owned()).into(),
        rows: rows.collect(),
        empty: page.t(EMPTY).to_owned(),
        ..Table::default()
    })
}

/// Returns the credits that a top-up added; `None` if its entry does not have them.
fn added_credits(record: &AuditRecord) -> Option<i64> {
    let changes: Value = serde_json::from_str(record.changes.as_deref()?).ok()?;
    let total = changes.get("topUpMicros")?;
    let before = total.get("before")?.as_i64()?;
    let after = total.get("after")?.as_i64()?;
    Some(Micros(after.checked_sub(before)?).rounded_down())
}

const TITLE: Text = Text::new("Latest top-ups", "Letzte Aufladungen");
const TIME: Text = Text::new("Time", "Zeit");
const BY: Text = Text::new("Added by", "Hinzugefügt von");
const CREDITS: Text = Text::new("Credits", "Credits");
const COMMAND_LINE: Text = Text::new("Command line", "Befehlszeile");
const EMPTY: Text = Text::new(
    "No credits were added in the time of the audit log.",
    "Im Zeitraum des Audit-Protokolls wurden keine Credits hinzugefügt.",
);
