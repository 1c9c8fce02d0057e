//! `pia-server admin group …`: arguments of the administration of groups.

use pia_policy::SettingChange;

use super::command::invalid_admin_command;
use super::error::Reason;
use super::group_setting;

const VERBS: &str = "unknown `admin group` command: use list, show, create, rename, delete, set or \
                     add; see `--help`";

/// Administration of groups from the command line. A group is referred to by
/// its id or its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupCommand {
    /// Lists the groups.
    List,
    /// Prints the settings of a group.
    Show {
        /// Group to print.
        group: String,
    },
    /// Creates a group.
    Create {
        /// Name of the group.
        name: String,
    },
    /// Renames a group.
    Rename {
        /// Group to rename.
        group: String,
        /// Name of the group from now on.
        name: String,
    },
    /// Deletes a group.
    Delete {
        /// Group to delete.
        group: String,
    },
    /// Changes the settings of a group.
    Set {
        /// Group to change.
        group: String,
        /// Changes to its settings.
        changes: Vec<SettingChange>,
    },
    /// Moves an account into a group.
    Add {
        /// Email address of the account.
        email: String,
        /// Group to move to.
        group: String,
    },
}

impl GroupCommand {
    /// Parses the arguments after `admin group`.
    pub(super) fn parse(words: &[&str]) -> Result<Self, Reason> {
        let owned = |text: &&str| (*text).to_owned();
        Ok(match words {
            ["list"] => Self::List,
            ["show", group] => Self::Show { group: owned(group) },
            ["create", name] => Self::Create { name: owned(name) },
            ["rename", group, name] => Self::Rename { group: owned(group), name: owned(name) },
            ["delete", group] => Self::Delete { group: owned(group) },
            ["set", group, pairs @ ..] if !pairs.is_empty() => {
                let changes =
                    pairs.iter().map(|it| group_setting::parse(it)).collect::<Result<_, _>>()?;
                Self::Set { group: owned(group), changes }
            }
            ["add", email, group] => Self::Add { email: owned(email), group: owned(group) },
            [verb, ..] => return Err(invalid_admin_command(&format!("group {verb}"), VERBS)),
            [] => return Err(Reason::source(VERBS)),
        })
    }
}
