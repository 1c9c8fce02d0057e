//! Page of the audit log.

use std::collections::HashMap;

use pia_kernel::{AuditPerson, AuditRecord, AuditSide, Page, UserId};
use pia_web::ApiError;

use super::super::bindings::{find_emails, time_cell, user_cell};
use super::actions::action_text;
use super::changes::format_changes;
use super::filter::SearchedEntries;
use super::objects::{find_names, object_cell};
use super::verification::{VERIFY, VERIFY_HINT};
use crate::page_context::PageContext;
use crate::texts::common;
use crate::ui::{Cell, Form, Row, Section, Table, Text, View};

/// Returns the page of the audit log with these records.
pub(super) async fn log_view(
    page: &PageContext,
    searched: SearchedEntries,
    records: Page<AuditRecord>,
) -> Result<View, ApiError> {
    let sides = records.items.iter().flat_map(|it| [&it.actor, &it.subject]);
    let emails = find_emails(page, sides.filter_map(user_of)).await?;
    let objects = records.items.iter().filter_map(|it| it.object.as_deref());
    let names = find_names(page, objects).await?;
    let SearchedEntries { search, query, .. } = searched;
    let table = Table {
        caption: page.t(TITLE).to_owned(),
        columns: [TIME, ACTION, OBJECT, ACTOR, SUBJECT, CHANGES].map(|it| page.t(it).into()).into(),
        rows: records.items.iter().map(|it| record_row(page, it, &names, &emails)).collect(),
        empty: page.t(common::NO_MATCH).to_owned(),
        search: Some(search),
        sort_links: page.time_sort_links(0),
        ..page.paged(records.next)
    };

    let verify = Form::new("admin/audit/verify", page.t(VERIFY));
    Ok(View::new(page.t(TITLE))
        .intro(page.t(INTRO))
        .action(page.t(EXPORT), format!("admin/audit/export?{query}"))
        .section(Section::new("entries", "").table(table))
        .section(Section::new("verify", page.t(VERIFY)).intro(page.t(VERIFY_HINT)).form(verify)))
}

pub(in crate::admin) fn user_of(side: &AuditSide) -> Option<UserId> {
    match side {
        AuditSide::Known(AuditPerson { user, .. }) => *user,
        AuditSide::Nobody | AuditSide::Forgotten => None,
    }
}

fn record_row(
    page: &PageContext,
    record: &AuditRecord,
    names: &HashMap<String, String>,
    emails: &HashMap<UserId, String>,
) -> Row {
    let action = action_text(page, &record.action);
    let changes = record.changes.as_deref().map(|it| format_changes(page.language, it));
    Row::new(vec![
        time_cell(page, record.at),
        Cell::link(action, format!("admin/audit/{}", record.id)).detail(&record.action),
        object_cell(page, record.object.as_deref(), names),
        side_cell(page, &record.actor, emails),
        side_cell(page, &record.subject, emails),
        Cell::text(changes.unwrap_or_default()),
    ])
}

pub(in crate::admin) fn side_cell(
    page: &PageContext,
    side: &AuditSide,
    emails: &HashMap<UserId, String>,
) -> Cell {
    match side {
        AuditSide::Nobody => Cell::default(),
        AuditSide::Forgotten => Cell::text(page.t(FORGOTTEN)),
        AuditSide::Known(AuditPerson { user, address, .. }) => {
            let address = address.map(|it| it.to_string()).unwrap_or_default();
            match user {
                Some(user) => user_cell(page, *user, emails).detail(address),
                None => Cell::text(address),
            }
        }
    }
}

pub(super) const TITLE: Text = Text::new("Audit log", "Audit-Protokoll");
const INTRO: Text = Text::new(
    "Who did what and when. Details that identify a person are deleted with their \
     account.",
    "Wer was wann getan hat. Angaben, die eine Person identifizieren, \
     werden mit ihrem Konto gelöscht.",
);
pub(super) const TIME: Text = Text::new("Time", "Zeit");
pub(super) const ACTION: Text = Text::new("Action", "Aktion");
pub(super) const OBJECT: Text = Text::new("Object", "Objekt");
pub(super) const ACTOR: Text = Text::new("Actor", "Handelnde Person");
pub(super) const SUBJECT: Text = Text::new("Affected person", "Betroffene Person");
pub(super) const CHANGES: Text = Text::new("Changes", "Änderungen");
const FORGOTTEN: Text = Text::new("Deleted account", "Gelöschtes Konto");
const EXPORT: Text = Text::new("Export", "Exportieren");
