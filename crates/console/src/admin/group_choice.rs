//! Groups that a form chooses, or that something is granted to.
//!
//! Forms offer up to `MAX_OPTIONS` groups in a selection or as check boxes. Where there are
//! more, their names are typed instead, and granted groups are listed by page. `typed_group`,
//! `typed_groups` and `typed_selection` parse both.

use std::collections::{HashMap, HashSet};

use pia_kernel::{GroupId, GroupSelection, Language};
use pia_policy::GroupError;
use pia_web::ApiError;
use uuid::Uuid;

use crate::form_fields::FormFields;
use crate::page_context::PageContext;
use crate::texts::common;
use crate::texts::field_errors::field_error;
use crate::ui::form::SelectOption;
use crate::ui::{Cell, Field, Form, Row, Section, Text, format};

/// Maximum number of groups that a form offers.
const MAX_OPTIONS: usize = 200;
/// Maximum number of groups that a cell names.
const MAX_NAMES: usize = 10;
/// Field with the checked groups.
const CHECKED: &str = "groupIds";
/// Field with the name of a group that is added.
const ADDED: &str = "addedGroup";
/// Field with a group that is removed.
const REMOVED: &str = "removedGroup";

/// Names of all groups, in order.
pub(super) struct GroupNames {
    language: Language,
    groups: Vec<(GroupId, String)>,
    positions: HashMap<GroupId, usize>,
}

/// Groups that something is granted to, as a section of its page displays them.
pub(super) struct GrantedGroups<'a> {
    pub(super) title: Text,
    pub(super) intro: Text,
    /// Path of the form that changes them.
    pub(super) path: String,
    pub(super) granted: &'a [GroupId],
}

impl GroupNames {
    /// Loads the names.
    pub(super) async fn load(page: &PageContext) -> Result<Self, ApiError> {
        let groups = page.run(|api| async move { api.groups.names().await }).await?;
        Ok(Self::new(page.language, groups))
    }

    fn new(language: Language, groups: Vec<(GroupId, String)>) -> Self {
        let positions = groups.iter().enumerate().map(|(position, it)| (it.0, position)).collect();
        Self { language, groups, positions }
    }

    /// Removes groups that cannot be chosen.
    pub(super) fn without(self, groups: &[GroupId]) -> Self {
        let removed: HashSet<_> = groups.iter().collect();
        let others = self.groups.into_iter().filter(|it| !removed.contains(&it.0));
        Self::new(self.language, others.collect())
    }

    /// Returns whether there is no group to choose.
    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Returns the names of the first of these groups and the number of the others, in one line.
    pub(super) fn of(&self, groups: &[GroupId]) -> String {
        let names: Vec<_> = self.in_order(groups).into_iter().map(|it| self.name(it)).collect();
        let (first_names, others) = names.split_at(names.len().min(MAX_NAMES));
        let line = first_names.join(", ");
        match others.len() {
            0 => line,
            count => AND_MORE.fill(self.language, &[&line, &self.number(count)]),
        }
    }

    /// Returns the field that chooses one group: a selection, or the name. It may stay empty if
    /// there is a label for no group. `selected` is an id, or a name that was typed.
    pub(super) fn select(
        &self,
        name: &str,
        label: &str,
        selected: &str,
        none: Option<&str>,
    ) -> Field {
        let field = if self.has_options() {
            let none_option = none.map(|it| (String::new(), it.to_owned()));
            let options = self.groups.iter().map(|(id, name)| (id.to_string(), name.clone()));
            Field::select(name, label, none_option.into_iter().chain(options), selected)
        } else {
            let value = parse_group(selected).map_or(selected, |it| self.name(it));
            self.input(name, label, value)
        };

        if none.is_some() { field.optional() } else { field }
    }

    /// Returns the field with the groups of something new, as typed into a form: check boxes, or
    /// the name of one.
    pub(super) fn new_grants(&self, page: &PageContext, form: &FormFields) -> Field {
        if self.has_options() {
            self.checks(page.t(GROUPS), &checked_groups(form))
        } else {
            self.input(ADDED, page.t(GROUP), form.text(ADDED)).optional()
        }
    }

    /// Returns the section with the form of granted groups: check boxes, or a list from which
    /// they are removed and the name of one that is added.
    pub(super) fn section(&self, page: &PageContext, groups: GrantedGroups<'_>) -> Section {
        let GrantedGroups { title, intro, path, granted } = groups;
        let section = Section::new("groups", page.t(title)).intro(page.t(intro));
        if self.is_empty() {
            return section.paragraph(page.t(NO_OTHER_GROUPS));
        }
        if self.has_options() {
            let checks = self.checks(page.t(title), granted);
            let form = Form::new(path, page.t(common::SAVE)).field(checks);
            return section.form(form.with_originals());
        }

        let groups = self.in_order(granted).into_iter();
        let rows = groups.map(|group| {
            let remove = Form::new(path.as_str(), page.t(REMOVE))
                .about(self.name(group))
                .hidden(REMOVED, group.to_string());
            Row::new(vec![self.cell(group)]).key(group.to_string()).form(remove)
        });
        let table = page.list(title, NO_GROUPS, &[("name", common::NAME)], rows.collect());
        let name = self.input(ADDED, page.t(GROUP), "");

        section.table(table).form(Form::new(path, page.t(ADD)).field(name))
    }

    /// Returns a link to a group.
    pub(super) fn cell(&self, group: GroupId) -> Cell {
        Cell::link(self.name(group), format!("admin/groups/{group}"))
    }

    /// Returns the name of a group; empty if it does not exist.
    pub(super) fn name(&self, group: GroupId) -> &str {
        let position = self.positions.get(&group);
        position.and_then(|it| self.groups.get(*it)).map_or("", |it| it.1.as_str())
    }

    /// Returns whether forms offer all groups.
    fn has_options(&self) -> bool {
        self.groups.len() <= MAX_OPTIONS
    }

    /// Returns those of these groups that exist, in the order of all.
    fn in_order(&self, groups: &[GroupId]) -> Vec<GroupId> {
        let with_position = |it: &GroupId| Some((*self.positions.get(it)?, *it));
        let mut sorted: Vec<_> = groups.iter().filter_map(with_position).collect();
        sorted.sort_unstable();
        sorted.into_iter().map(|it| it.1).collect()
    }

    fn checks(&self, label: &str, selected: &[GroupId]) -> Field {
        let options = self.groups.iter().map(|(id, name)| SelectOption {
            value: id.to_string(),
            label: name.clone(),
            is_selected: selected.contains(id),
        });
        Field::checks(CHECKED, label, options.collect())
    }

    /// Returns the field in which the name of a group is typed.
    fn input(&self, name: &str, label: &str, value: &str) -> Field {
        let suggestions = self.groups.iter().take(MAX_OPTIONS).map(|it| it.1.clone());
        let hint = SEARCH.fill(self.language, &[&self.number(self.groups.len())]);
        Field::text(name, label, value).hint(hint).suggestions(suggestions.collect())
    }

    fn number(&self, count: usize) -> String {
        format::number(self.language, count as u64)
    }
}

/// Returns the group that a field has the id or the name of; `None` if it is empty.
pub(super) async fn typed_group(
    page: &PageContext,
    form: &FormFields,
    field: &str,
) -> Result<Option<GroupId>, ApiError> {
    let typed = form.text(field);
    if typed.is_empty() {
        return Ok(None);
    }
    let group = find_group(page, typed).await?;
    group.map(Some).ok_or_else(|| unknown_group(page, field))
}

/// Returns the groups of something new.
pub(super) async fn typed_groups(
    page: &PageContext,
    form: &FormFields,
) -> Result<Vec<GroupId>, ApiError> {
    if form.all(ADDED).next().is_none() {
        return Ok(checked_groups(form));
    }
    Ok(typed_group(page, form, ADDED).await?.into_iter().collect())
}

/// Returns what a form changes about granted groups: the group that it adds or removes, or the
/// boxes that differ from their original state. Other groups stay, as another form may have
/// granted them meanwhile.
pub(super) async fn typed_selection(
    page: &PageContext,
    form: &FormFields,
) -> Result<GroupSelection, ApiError> {
    if form.all(REMOVED).next().is_some() {
        let removed =
            parse_group(form.text(REMOVED)).ok_or_else(|| unknown_group(page, REMOVED))?;
        return Ok(GroupSelection::Changed { added: Vec::new(), removed: vec![removed] });
    }
    if form.all(ADDED).next().is_some() {
        let group = typed_group(page, form, ADDED).await?;
        let added = group.ok_or_else(|| unknown_group(page, ADDED))?;
        return Ok(GroupSelection::Changed { added: vec![added], removed: Vec::new() });
    }

    let checked = checked_groups(form);
    let Some(original) = form.original(CHECKED) else {
        return Ok(GroupSelection::Exactly(checked));
    };
    let original: Vec<_> = original.split(' ').filter_map(parse_group).collect();

    Ok(GroupSelection::Changed {
        added: groups_without(&checked, &original),
        removed: groups_without(&original, &checked),
    })
}

/// Finds a group by its name, in any case; an id is not looked up.
pub(super) async fn find_group(
    page: &PageContext,
    text: &str,
) -> Result<Option<GroupId>, ApiError> {
    if let Some(group) = parse_group(text) {
        return Ok(Some(group));
    }

    let name = text.to_owned();
    page.run(|api| async move {
        match api.groups.find_by_name(&name).await {
            Err(GroupError::Unknown) => Ok(None),
            result => result.map(|it| Some(it.group.id)),
        }
    })
    .await
}

/// Returns the error of a field that names no group.
pub(super) fn unknown_group(page: &PageContext, field: &str) -> ApiError {
    field_error(page.language, field, UNKNOWN_GROUP)
}

/// Returns those of the groups that the others do not contain.
fn groups_without(groups: &[GroupId], others: &[GroupId]) -> Vec<GroupId> {
    groups.iter().copied().filter(|it| !others.contains(it)).collect()
}

fn checked_groups(form: &FormFields) -> Vec<GroupId> {
    form.all(CHECKED).filter_map(parse_group).collect()
}

/// Returns the group with this id.
fn parse_group(id: &str) -> Option<GroupId> {
    Uuid::try_parse(id).ok().map(GroupId)
}

/// Label of the groups that something is granted to.
pub(super) const GROUPS: Text = Text::new("Groups", "Gruppen");
pub(super) const UNKNOWN_GROUP: Text =
    Text::new("No group has this name.", "Keine Gruppe hat diesen Namen.");
const GROUP: Text = Text::new("Group", "Gruppe");
const AND_MORE: Text = Text::new("{} and {} more", "{} und {} weitere");
const NO_OTHER_GROUPS: Text =
    Text::new("There are no other groups yet.", "Es gibt noch keine anderen Gruppen.");
const NO_GROUPS: Text = Text::new("No groups yet.", "Noch keine Gruppen.");
const SEARCH: Text =
    Text::new("Type to search {} groups.", "Tippen, um {} Gruppen zu durchsuchen.");
const ADD: Text = Text::new("Add group", "Gruppe hinzufügen");
const REMOVE: Text = Text::new("Remove", "Entfernen");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::form::FieldControl;

    fn groups(count: usize) -> GroupNames {
        let group =
            |number: usize| (GroupId(Uuid::from_u128(number as u128)), format!("Team {number}"));
        GroupNames::new(Language::De, (1..=count).map(group).collect())
    }

    #[test]
    fn few_groups_are_options_of_a_selection() {
        let last_id = Uuid::from_u128(MAX_OPTIONS as u128).to_string();

        let field = groups(MAX_OPTIONS).select("group", "Group", &last_id, Some("All"));

        let FieldControl::Select(options) = &field.control else { panic!("no selection") };
        let selected: Vec<_> = options.iter().filter(|it| it.is_selected).collect();
        assert_eq!(options.len(), MAX_OPTIONS + 1);
        assert_eq!(selected.len(), 1);
        assert_eq!(selected[0].label, "Team 200");
        assert!(!field.is_required && field.suggestions.is_empty());
    }

    #[test]
    fn of_many_groups_the_name_is_typed() {
        let last_id = Uuid::from_u128(10_000).to_string();

        for (selected, expected) in [(last_id.as_str(), "Team 10000"), ("Team X", "Team X")] {
            let field = groups(10_000).select("group", "Group", selected, None);

            let FieldControl::Input { value, .. } = &field.control else { panic!("no input") };
            assert_eq!(value, expected);
            assert_eq!(field.suggestions.len(), MAX_OPTIONS);
            assert_eq!(field.hint, "Tippen, um 10.000 Gruppen zu durchsuchen.");
            assert!(field.is_required);
        }
    }

    #[test]
    fn a_cell_names_the_first_of_many_groups() {
        let all = groups(12);
        let ids: Vec<_> = all.groups.iter().map(|it| it.0).collect();

        assert!(all.of(&ids).ends_with(", Team 9, Team 10 und 2 weitere"));
        assert!(all.of(&ids[..10]).ends_with(", Team 10"));
    }

    #[test]
    fn granted_groups_are_named_in_the_order_of_all() {
        let ids = [3, 9, 1].map(|it| GroupId(Uuid::from_u128(it)));

        assert_eq!(groups(3).of(&ids), "Team 1, Team 3");
    }
}
