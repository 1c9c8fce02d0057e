//! Choice of several entries of a list that may be long.
//!
//! Forms offer up to `MAX_OPTIONS` entries as check boxes, the selected ones first. Where there
//! are more, the name of another one is typed, and selected ones that are not offered stay
//! selected.

use std::collections::HashSet;
use std::fmt::Display;
use std::hash::Hash;

use pia_web::ApiError;
use uuid::Uuid;

use super::bindings::selected_ids;
use crate::form_fields::FormFields;
use crate::page_context::PageContext;
use crate::texts::field_errors::field_error;
use crate::ui::form::SelectOption;
use crate::ui::{Field, Text};

/// Maximum number of entries that a form offers.
const MAX_OPTIONS: usize = 200;

/// Fields of a choice, with their texts.
pub(super) struct EntryChoice<T> {
    /// Constructor of the ids.
    pub(super) id: fn(Uuid) -> T,
    /// Field with the ids of the checked entries.
    pub(super) checked: &'static str,
    pub(super) label: Text,
    /// Field with the name of another entry.
    pub(super) added: &'static str,
    pub(super) added_label: Text,
    /// Error of a name that no entry has.
    pub(super) unknown: Text,
}

/// Entries of a choice by id and name, those that forms offer first.
pub(super) struct ChoiceEntries<T> {
    all: Vec<(T, String)>,
    selected: HashSet<T>,
}

impl<T: Copy + Eq + Hash> ChoiceEntries<T> {
    /// Creates the entries of a choice from all entries in order.
    pub(super) fn new(mut all: Vec<(T, String)>, selected: Vec<T>) -> Self {
        let selected: HashSet<T> = selected.into_iter().collect();
        if all.len() > MAX_OPTIONS {
            all.sort_by_cached_key(|it| !selected.contains(&it.0));
        }
        Self { all, selected }
    }

    /// Returns whether there is no entry to choose.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Finds the entry with a name, in any case.
    fn find(&self, name: &str) -> Option<T> {
        let folded_name = name.to_lowercase();
        self.all.iter().find(|it| it.1.to_lowercase() == folded_name).map(|it| it.0)
    }
}

impl<T: Copy + Eq + Hash + Display> EntryChoice<T> {
    /// Returns the check boxes, and the field for another name if they are not of all entries.
    pub(super) fn fields(&self, page: &PageContext, entries: ChoiceEntries<T>) -> Vec<Field> {
        let ChoiceEntries { all, selected } = entries;
        let has_more = all.len() > MAX_OPTIONS;
        let options = all.into_iter().take(MAX_OPTIONS).map(|(id, name)| SelectOption {
            value: id.to_string(),
            label: name,
            is_selected: selected.contains(&id),
        });
        let checks = Field::checks(self.checked, page.t(self.label), options.collect());
        let added = has_more.then(|| {
            Field::text(self.added, page.t(self.added_label), "").hint(page.t(HINT)).optional()
        });

        std::iter::once(checks).chain(added).collect()
    }

    /// Returns the entries that are selected after the form was sent.
    pub(super) fn parse(
        &self,
        page: &PageContext,
        form: &FormFields,
        entries: &ChoiceEntries<T>,
    ) -> Result<Vec<T>, ApiError> {
        let mut ids = selected_ids(form, self.checked, self.id);
        let others = entries.all.iter().skip(MAX_OPTIONS).map(|it| it.0);
        ids.extend(others.filter(|it| entries.selected.contains(it)));
        if let Some(name) = form.some(self.added) {
            let found = entries.find(&name);
            ids.push(found.ok_or_else(|| field_error(page.language, self.added, self.unknown))?);
        }
        Ok(ids)
    }
}

const HINT: Text = Text::new(
    "The first 200 entries are listed. Type the name of another one to select it too.",
    "Die ersten 200 Einträge sind aufgeführt. Um einen weiteren auszuwählen, geben Sie seinen \
     Namen ein.",
);

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered_entries(count: u32, selected: Vec<u32>) -> ChoiceEntries<u32> {
        let all = (1..=count).map(|number| (number, format!("Plugin {number}")));
        ChoiceEntries::new(all.collect(), selected)
    }

    #[test]
    fn selected_entries_come_first_where_forms_cannot_offer_all() {
        let first_ids = |entries: ChoiceEntries<u32>| {
            entries.all.iter().take(3).map(|it| it.0).collect::<Vec<_>>()
        };

        assert_eq!(first_ids(numbered_entries(200, vec![150])), [1, 2, 3]);
        assert_eq!(first_ids(numbered_entries(201, vec![201, 150])), [150, 201, 1]);
    }

    #[test]
    fn entries_are_found_by_their_full_names_in_any_case() {
        let entries = numbered_entries(3, Vec::new());

        assert_eq!(entries.find("PLUGIN 2"), Some(2));
        assert_eq!(entries.find("Plugin"), None);
    }
}
