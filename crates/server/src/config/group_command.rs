//! `pia-server admin group …`: what is done to groups.

use pia_policy::SettingChange;

use super::fault::Reason;
use super::group_setting;

const VERBS: &str = "unknown `admin group` command: use list, show, create, rename, delete, set or \
                     add; see `--help`";

/// What is done to groups from the command line. A group is named by its id
/// or its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupCommand {
    /// Names all of them.
    List,
    /// Shows what the members of one may.
    Show {
        /// Which one.
        group: String,
    },
    /// Makes one.
    Create {
        /// What it is called.
        name: String,
    },
    /// Calls one otherwise.
    Rename {
        /// Which one.
        group: String,
        /// What it is called then.
        name: String,
    },
    /// Takes one away.
    Delete {
        /// Which one.
        group: String,
    },
    /// Changes what the members of one may.
    Set {
        /// Which one.
        group: String,
        /// What is to be otherwise.
        changes: Vec<SettingChange>,
    },
    /// Puts somebody into one.
    Add {
        /// Their address.
        email: String,
        /// Which one.
        group: String,
    },
}

impl GroupCommand {
    /// What the words behind `admin group` mean.
    pub(super) fn of(words: &[&str]) -> Result<Self, Reason> {
        let owned = |text: &&str| (*text).to_owned();
        Ok(match words {
            ["list"] => Self::List,
            ["show", group] => Self::Show { group: owned(group) },
            ["create", name] => Self::Create { name: owned(name) },
            ["rename", group, name] => Self::Rename { group: owned(group), name: owned(name) },
            ["delete", group] => Self::Delete { group: owned(group) },
            ["set", group, first, rest @ ..] => {
                let pairs = std::iter::once(first).chain(rest);
                let changes = pairs.map(|it| group_setting::read(it)).collect::<Result<_, _>>()?;
                Self::Set { group: owned(group), changes }
            }
            ["add", email, group] => Self::Add { email: owned(email), group: owned(group) },
            _ => return Err(Reason::source(VERBS)),
        })
    }
}
