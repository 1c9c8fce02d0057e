//! Page of an entry of the audit log.
//!
//! The list shortens the values that an action changed; this page has them as they
//! were recorded, with the request and its user agent.

use pia_kernel::{AuditPerson, AuditRecord, AuditSide};
use pia_web::{ApiError, PathId};

use super::actions::action_text;
use super::changes::change_rows;
use super::objects::{find_names, object_cell};
use super::view::{ACTION, ACTOR, CHANGES, OBJECT, SUBJECT, TIME, TITLE, side_cell, user_of};
use crate::admin::bindings::{find_emails, time_cell};
use crate::page_context::{PageContext, PageResult};
use crate::ui::{Cell, Section, Table, Text, View};

pub(super) async fn show(page: PageContext, PathId(id): PathId) -> PageResult {
    let record = page
        .run(|api| async move { api.audit.find(id).await })
        .await?
        .ok_or_else(ApiError::not_found)?;

    let mut view = View::new(action_text(&page, &record.action))
        .below(page.t(TITLE), "admin/audit")
        .section(facts_section(&page, &record).await?);
    let changes = change_rows(&page, record.changes.as_deref().unwrap_or_default());
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
    let object = record.object.as_deref();
    let names = find_names(page, object.into_iter()).await?;
    let text = |it: &Option<String>| Cell::text(it.clone().unwrap_or_default());
    let agent = sides.into_iter().find_map(agent_of).unwrap_or_default();
    Ok(Section::new("entry", "").facts([
        (page.t(TIME), time_cell(page, record.at)),
        (page.t(ACTION), Cell::text(action_text(page, &record.action))),
        (page.t(CODE), Cell::text(&record.action)),
        (page.t(OBJECT), object_cell(page, object, &names)),
        (page.t(OBJECT_ID), text(&record.object)),
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

const CODE: Text = Text::new("Code of the action", "Code der Aktion");
const OBJECT_ID: Text = Text::new("ID of the object", "ID des Objekts");
const REQUEST: Text = Text::new("Request ID", "Anfrage-ID");
const USER_AGENT: Text = Text::new("User agent", "User-Agent");
const ENTRY: Text = Text::new("Entry ID", "Eintrags-ID");
const FIELD: Text = Text::new("Field", "Feld");
const BEFORE: Text = Text::new("Before", "Vorher");
const AFTER: Text = Text::new("After", "Nachher");
