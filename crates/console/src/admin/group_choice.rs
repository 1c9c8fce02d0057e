//! Groups that something is granted to.

use pia_kernel::GroupId;
use pia_web::ApiError;
use uuid::Uuid;

use crate::form_fields::FormFields;
use crate::page_context::PageContext;
use crate::ui::form::SelectOption;
use crate::ui::{Cell, Field, Text};

/// Names of all groups, in order.
pub(super) struct GroupNames(Vec<(GroupId, String)>);

impl GroupNames {
    /// Loads the names.
    pub(super) async fn load(page: &PageContext) -> Result<Self, ApiError> {
        let entries = page.run(|api| async move { api.groups.list().await }).await?;
        let names = entries.into_iter().map(|it| (it.group.id, it.group.name.as_str().to_owned()));
        Ok(Self(names.collect()))
    }

    /// Returns the names of these groups, in one line.
    pub(super) fn of(&self, groups: &[GroupId]) -> String {
        let names: Vec<_> = self
            .0
            .iter()
            .filter(|(id, _)| groups.contains(id))
            .map(|(_, name)| name.as_str())
            .collect();
        names.join(", ")
    }

    /// Returns whether there are groups besides this one.
    pub(super) fn has_others(&self, group: GroupId) -> bool {
        self.0.iter().any(|it| it.0 != group)
    }

    /// Returns check boxes of all groups except for one, if it is set.
    pub(super) fn checks(
        &self,
        label: &str,
        selected: &[GroupId],
        except: Option<GroupId>,
    ) -> Field {
        let offered_groups = self.0.iter().filter(|(id, _)| Some(*id) != except);
        let options = offered_groups.map(|(id, name)| SelectOption {
            value: id.to_string(),
            label: name.clone(),
            is_selected: selected.contains(id),
        });
        Field::checks("groupIds", label, options.collect())
    }

    /// Returns a selection of one group.
    pub(super) fn select(&self, label: &str, selected: &str) -> Field {
        Field::select("groupId", label, self.options(), selected)
    }

    /// Returns the groups as options of a selection.
    pub(super) fn options(&self) -> Vec<(String, String)> {
        self.0.iter().map(|(id, name)| (id.to_string(), name.clone())).collect()
    }

    /// Returns a link to a group.
    pub(super) fn cell(&self, group: GroupId) -> Cell {
        let name = self.0.iter().find(|it| it.0 == group).map_or("", |it| it.1.as_str());
        Cell::link(name, format!("admin/groups/{group}"))
    }
}

/// Returns the groups whose boxes are checked.
pub(super) fn checked_groups(form: &FormFields) -> Vec<GroupId> {
    form.all("groupIds").filter_map(parse_group).collect()
}

/// Returns the group with this id.
pub(super) fn parse_group(id: &str) -> Option<GroupId> {
    Uuid::try_parse(id).ok().map(GroupId)
}

/// Label of the groups that something is granted to.
pub(super) const GROUPS: Text = Text::new("Groups", "Gruppen");
