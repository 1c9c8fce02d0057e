//! Page of the audit log.

use std::collections::HashMap;

use pia_kernel::{AuditPerson, AuditRecord, AuditSide, Page, UserId, truncate};
use pia_web::ApiError;
use serde_json::{Map, Value};

use super::super::bindings::{find_emails, time_cell, user_cell};
use super::actions::action_text;
use super::filter::SearchedEntries;
use super::verification::{VERIFY, VERIFY_HINT};
use crate::page_context::PageContext;
use crate::texts::common;
use crate::ui::{Cell, Form, Row, Section, Table, Text, View};

/// Maximum length of a displayed value in bytes.
const VALUE_BYTES: usize = 80;

/// Returns the page of the audit log with these records.
pub(super) async fn log_view(
    page: &PageContext,
    searched: SearchedEntries,
    records: Page<AuditRecord>,
) -> Result<View, ApiError> {
    let sides = records.items.iter().flat_map(|it| [&it.actor, &it.subject]);
    let emails = find_emails(page, sides.filter_map(user_of)).await?;
    let SearchedEntries { search, query, .. } = searched;
    let table = Table {
        caption: page.t(TITLE).to_owned(),
        columns: [TIME, ACTION, OBJECT, ACTOR, SUBJECT, CHANGES].map(|it| page.t(it).into()).into(),
        rows: records.items.iter().map(|it| record_row(page, it, &emails)).collect(),
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

fn record_row(page: &PageContext, record: &AuditRecord, emails: &HashMap<UserId, String>) -> Row {
    let action = action_text(page, &record.action);
    Row::new(vec![
        time_cell(page, record.at),
        Cell::link(action, format!("admin/audit/{}", record.id)).detail(&record.action),
        Cell::text(record.object.clone().unwrap_or_default()),
        side_cell(page, &record.actor, emails),
        side_cell(page, &record.subject, emails),
        Cell::text(record.changes.as_deref().map(format_changes).unwrap_or_default()),
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

/// Formats changed fields: `name: "Sales" → "Sellers"; note: – → "New"`.
fn format_changes(changes: &str) -> String {
    let fields: Map<String, Value> = serde_json::from_str(changes).unwrap_or_default();
    let mut texts = Vec::new();

    for (name, change) in fields {
        let before = format_value(change.get("before"));
        let after = format_value(change.get("after"));
        texts.push(format!("{name}: {before} → {after}"));
    }

    texts.join("; ")
}

fn format_value(value: Option<&Value>) -> String {
    let value = value.map_or_else(|| "–".to_owned(), Value::to_string);
    let short = truncate(&value, VALUE_BYTES);
    if short.len() < value.len() { format!("{short}…") } else { value }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_formatted_by_field_and_shortened() {
        let changes = r#"{"name":{"before":"Sales","after":"Sellers"},"size":{"after":3}}"#;
        assert_eq!(format_changes(changes), r#"name: "Sales" → "Sellers"; size: – → 3"#);

        let long_changes = format!(r#"{{"a":{{"after":"{}"}}}}"#, "x".repeat(2 * VALUE_BYTES));
        assert!(format_changes(&long_changes).ends_with("x…"));

        assert_eq!(format_changes("other text"), "");
    }
}
