//! Page of an entry of the audit log.
//!
//! The list shortens the values that an action changed; this page has them as they
//! were recorded, with the request and its user agent.

use pia_kernel::{AuditPerson, AuditRecord, AuditSide};
use pia_web::{ApiError, PathId};
use serde_json::{Map, Value};

use super::actions::action_text;
use super::view::{ACTION, ACTOR, CHANGES, OBJECT, SUBJECT, TIME, TITLE, side_cell, user_of};
use crate::admin::bindings::{find_emails, time_cell};
use crate::page_context::{PageContext, PageResult};
use crate::ui::{Cell, Row, Section, Table, Text, View};

pub(super) async fn show(page: PageContext, PathId(id): PathId) -> PageResult {
    let record = page
        .run(|api| async move { api.audit.find(id).await })
        .await?
        .ok_or_else(ApiError::not_found)?;

    let mut view = View::new(action_text(&page, &record.action))
        .below(page.t(TITLE), "admin/audit")
        .section(facts_section(&page, &record).await?);
    let changes = change_rows(record.changes.as_deref().unwrap_or_default());
    if !changes.is_empty() {
        let table = Table {
            caption: page.t(CHANGES).to_owned(),
            columns: [FIELD, BEFORE, AFTER].map(|it| page.t(it).into()).into(),
            rows: changes,
            ..Table::default()
        };
        view = view.section(Section::new("changes", page.t(CHANGES)).table(table));
    }

    Ok(page.render(view))
}

async fn facts_section(page: &PageContext, record: &AuditRecord) -> Result<Section, ApiError> {
    let sides = [&record.actor, &record.subject];
    let emails = find_emails(page, sides.into_iter().filter_map(user_of)).await?;
    let text = |it: &Option<String>| Cell::text(it.clone().unwrap_or_default());
    let agent = sides.into_iter().find_map(agent_of).unwrap_or_default();
    Ok(Section::new("entry", "").facts([
        (page.t(TIME), time_cell(page, record.at)),
        (page.t(ACTION), Cell::text(action_text(page, &record.action))),
        (page.t(CODE), Cell::text(&record.action)),
        (page.t(OBJECT), text(&record.object)),
        (page.t(ACTOR), side_cell(page, &record.actor, &emails)),
        (page.t(SUBJECT), side_cell(page, &record.subject, &emails)),
        (page.t(USER_AGENT), Cell::text(agent)),
        (page.t(REQUEST), text(&record.request)),
        (page.t(ENTRY), Cell::text(record.id.to_string())),
    ]))
}

/// Returns the user agent of a side, if it made the request.
fn agent_of(side: &AuditSide) -> Option<&str> {
    match side {
        AuditSide::Known(AuditPerson { agent, .. }) => agent.as_deref(),
        AuditSide::Nobody | AuditSide::Forgotten => None,
    }
}

/// Returns a row for each field that an action changed, with its values as JSON.
fn change_rows(changes: &str) -> Vec<Row> {
    let fields: Map<String, Value> = serde_json::from_str(changes).unwrap_or_default();
    let value = |it: Option<&Value>| Cell::text(it.map(Value::to_string).unwrap_or_default());
    fields
        .into_iter()
        .map(|(name, change)| {
            let before = value(change.get("before"));
            let after = value(change.get("after"));
            Row::new(vec![Cell::text(name), before, after])
        })
        .collect()
}

const CODE: Text = Text::new("Code of the action", "Code der Aktion");
const REQUEST: Text = Text::new("Request ID", "Anfrage-ID");
const USER_AGENT: Text = Text::new("User agent", "User-Agent");
const ENTRY: Text = Text::new("Entry ID", "Eintrags-ID");
const FIELD: Text = Text::new("Field", "Feld");
const BEFORE: Text = Text::new("Before", "Vorher");
const AFTER: Text = Text::new("After", "Nachher");
