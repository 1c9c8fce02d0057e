//! Parts that the pages of published content share.
//!
//! Policies, personas and plugins are assigned to groups and changed by forms that
//! carry the version they were opened with: `with_version` adds it, and
//! `expected_version` returns it, so that the change of another administrator is not
//! overwritten.

use std::collections::{HashMap, HashSet};

use pia_kernel::{Timestamp, UserId};
use pia_web::ApiError;
use uuid::Uuid;

use crate::form_fields::FormFields;
use crate::page_context::PageContext;
use crate::ui::{Cell, Form, Text, format};

/// Name of the field with the version of what a form changes. Plugins have a field `version`.
const VERSION: &str = "expectedVersion";

/// Contents in a form that changes published content.
pub(super) struct VersionedDraft<D> {
    pub(super) draft: D,
    /// Version that the form changes; `None` for any.
    pub(super) version: Option<Timestamp>,
}

/// Returns the ids of the selected check boxes.
pub(super) fn selected_ids<T>(form: &FormFields, name: &str, id: impl Fn(Uuid) -> T) -> Vec<T> {
    form.all(name).filter_map(|it| Uuid::try_parse(it).ok()).map(id).collect()
}

/// Adds the version that a form changes; `None` for any.
pub(super) fn with_version(form: Form, version: Option<Timestamp>) -> Form {
    match version {
        Some(updated_at) => form.hidden(VERSION, updated_at.micros().to_string()),
        None => form,
    }
}

/// Returns the version that a form changes; `None` accepts any.
pub(super) fn expected_version(form: &FormFields) -> Option<Timestamp> {
    form.text(VERSION).parse().ok().map(Timestamp::from_micros)
}

/// Returns the email addresses of accounts. Deleted ones have none.
pub(super) async fn find_emails(
    page: &PageContext,
    users: impl Iterator<Item = UserId>,
) -> Result<HashMap<UserId, String>, ApiError> {
    let users: HashSet<UserId> = users.collect();
    page.run(|api| async move { api.groups.emails(users.into_iter().collect()).await }).await
}

/// Returns a link to an account.
pub(super) fn user_cell(
    page: &PageContext,
    user: UserId,
    emails: &HashMap<UserId, String>,
) -> Cell {
    match emails.get(&user) {
        Some(email) => Cell::link(email, format!("admin/users/{user}")),
        None => Cell::text(page.t(DELETED_ACCOUNT)),
    }
}

/// Returns the cell of a time, by which a list can be sorted.
pub(super) fn time_cell(page: &PageContext, at: Timestamp) -> Cell {
    Cell::text(format::time(page.language, at)).sort_value(at.micros())
}

/// Returns the cell of a day. A list is sorted by the time within the day too.
pub(super) fn day_cell(page: &PageContext, at: Timestamp) -> Cell {
    Cell::text(format::day(page.language, at)).sort_value(at.micros())
}

pub(super) const GROUPS: Text = Text::new("Groups", "Gruppen");
pub(super) const CHANGED: Text = Text::new("Changed", "Geändert");
pub(super) const SIZE: Text = Text::new("Size", "Größe");
pub(super) const ACTIVE: Text = Text::new("Active", "Aktiv");
pub(super) const INACTIVE: Text = Text::new("Inactive", "Inaktiv");
const DELETED_ACCOUNT: Text = Text::new("Deleted account", "Gelöschtes Konto");
