//! `pia-server admin group …`: administers groups beside a running server.

use std::sync::Arc;

use pia_identity::{CallerCache, DEFAULT_GROUP, Roles};
use pia_kernel::{BudgetPeriod, Clock, GroupId, LiveSetting};
use pia_policy::{
    Feature, Group, GroupEntry, GroupError, GroupSettings, Groups, LicenceState, Licensed, Quota,
    SettingChange,
};
use pia_settings::{GroupCommand, ListedEntries};
use pia_storage::Database;

use super::{AdminError, find_member, line};
use crate::compose::GroupPolicy;

/// Services that administer groups, without a server around them.
pub(super) struct GroupServices {
    groups: Groups,
    licence: LiveSetting<LicenceState>,
    clock: Arc<dyn Clock>,
    catalogue: ListedEntries,
}

impl GroupServices {
    pub(super) fn open(
        db: &Database,
        caller_cache: &CallerCache,
        licence: LiveSetting<LicenceState>,
        clock: &Arc<dyn Clock>,
        catalogue: &ListedEntries,
    ) -> Self {
        let free = LiveSetting::new(DEFAULT_GROUP);
        let GroupPolicy { groups, rules: _ } = GroupPolicy::compose(db, caller_cache, free, clock);
        let clock = Arc::clone(clock);
        let catalogue = catalogue.clone();
        Self { groups, licence, clock, catalogue }
    }

    /// Runs a command, and returns what to print.
    pub(super) async fn run(
        &self,
        roles: &Roles,
        command: GroupCommand,
    ) -> Result<String, AdminError> {
        match command {
            GroupCommand::List => self.list().await,
            GroupCommand::Show { group } => self.show(&group).await,
            GroupCommand::Create { name } => self.create(&name).await,
            GroupCommand::Rename { group, name } => self.rename(&group, &name).await,
            GroupCommand::Delete { group } => self.delete(&group).await,
            GroupCommand::Set { group, changes } => self.set(&group, &changes).await,
            GroupCommand::Add { email, group } => self.add(roles, &email, &group).await,
        }
    }

    async fn list(&self) -> Result<String, AdminError> {
        let mut output = String::new();
        for GroupEntry { group: Group { id, name, is_default, .. }, members } in
            self.groups.list().await?
        {
            let name = name.as_str();
            let default = if is_default { " (default)" } else { "" };
            line(&mut output, format_args!("{id} {name}{default}, members: {members}"));
        }
        Ok(output)
    }

    async fn show(&self, group: &str) -> Result<String, AdminError> {
        let GroupEntry { group, members } = self.resolve(group).await?;
        let settings = self.groups.settings(group.id).await?;
        let mut output = String::new();
        line(&mut output, format_args!("{} {}, members: {members}", group.id, group.name.as_str()));
        output.push_str(&format_settings(&settings));
        Ok(output)
    }

    async fn create(&self, name: &str) -> Result<String, AdminError> {
        match self.licence.get().at(self.clock.now()) {
            Licensed::Valid(it) if it.features.contains(&Feature::GroupManagement) => {}
            _ => return Err(AdminError::NoGroups),
        }
        let Group { id, name, .. } = self.groups.create(None, name).await?;
        Ok(format!("Group {} created: {id}\n", name.as_str()))
    }

    async fn rename(&self, group: &str, name: &str) -> Result<String, AdminError> {
        let Group { id, name: before, .. } = self.resolve(group).await?.group;
        self.groups.rename(None, id, name).await?;
        Ok(format!("Group {} renamed to {}\n", before.as_str(), name.trim()))
    }

    async fn delete(&self, group: &str) -> Result<String, AdminError> {
        let Group { id, name, .. } = self.resolve(group).await?.group;
        self.groups.delete(None, id).await?;
        Ok(format!("Group {} deleted\n", name.as_str()))
    }

    async fn set(&self, group: &str, changes: &[SettingChange]) -> Result<String, AdminError> {
        let Group { id, .. } = self.resolve(group).await?.group;
        let mut output = format_settings(&self.groups.change_settings(None, id, changes).await?);
        self.warn(&mut output, changes);
        Ok(output)
    }

    /// Returns warnings about entries that this server's catalogue lacks. They
    /// stay set: another instance may have them, or this one after a restart.
    fn warn(&self, output: &mut String, changes: &[SettingChange]) {
        let mut warned: Vec<&str> = Vec::new();
        for id in changes.iter().flat_map(entries) {
            if let Some(fault) = self.catalogue.fault(id)
                && !warned.iter().any(|it| it.eq_ignore_ascii_case(id))
            {
                warned.push(id);
                line(output, format_args!("warning: `{id}` {fault}; it is ignored"));
            }
        }
    }

    async fn add(&self, roles: &Roles, email: &str, group: &str) -> Result<String, AdminError> {
        let Group { id, name, .. } = self.resolve(group).await?.group;
        let member = find_member(roles, email).await?;
        self.groups.move_member(None, member.user, id).await?;
        Ok(format!("User {} moved to group {}\n", member.email, name.as_str()))
    }

    /// Returns the group with this id, or else with this name.
    pub(super) async fn resolve(&self, group: &str) -> Result<GroupEntry, AdminError> {
        if let Ok(id) = uuid::Uuid::parse_str(group.trim()) {
            match self.groups.find(GroupId(id)).await {
                Err(GroupError::Unknown) => {}
                result => return result.map_err(AdminError::Group),
            }
        }
        self.groups.find_by_name(group).await.map_err(|err| match err {
            GroupError::Unknown => AdminError::NoGroup(group.to_owned()),
            other => other.into(),
        })
    }
}

/// Returns the catalogue entries that a change names.
fn entries(change: &SettingChange) -> &[String] {
    match change {
        SettingChange::Mode(_, entry) | SettingChange::PersonaType(_, entry) => entry.as_slice(),
        SettingChange::Models(entries) => entries,
        SettingChange::Quota(..) | SettingChange::Credits(..) | SettingChange::Pool(_) => &[],
    }
}

/// Formats the settings as they can be set again; defaults are marked.
fn format_settings(settings: &GroupSettings) -> String {
    let mut output = String::new();
    for quota in Quota::ALL {
        let name = quota.name();
        let limit = settings.quota(quota).map(|it| it.to_string()).unwrap_or_default();
        let default = if settings.quotas.contains_key(&quota) { "" } else { " (default)" };
        line(&mut output, format_args!("quota.{name}={limit}{default}"));
    }

    for period in BudgetPeriod::ALL {
        let name = period.name();
        let max = settings.credits.of(period);
        let no_limit = if max == 0 { " (no limit)" } else { "" };
        line(&mut output, format_args!("credits.{name}={max}{no_limit}"));
    }

    line(&mut output, format_args!("credits.pool={}", settings.credits.pool));

    for (mode, entry) in &settings.modes {
        line(&mut output, format_args!("mode.{mode}={entry}"));
    }

    for (persona_type, entry) in &settings.persona_types {
        line(&mut output, format_args!("persona.{persona_type}={entry}"));
    }

    line(&mut output, format_args!("models={}", settings.models.join(",")));

    output
}
