//! `pia-server admin kb …`: arguments of the administration of knowledge bases.

use std::path::PathBuf;

use super::command::invalid_admin_command;
use super::error::Reason;

const VERBS: &str = "unknown `admin kb` command: use list, show, create, rename, delete, share, \
                     import, export, retry, reindex or verify; see `--help`";

/// Administration of knowledge bases from the command line. A base and a group
/// are referred to by their ids or their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KbCommand {
    /// Lists the bases.
    List,
    /// Prints a base and its documents.
    Show {
        /// Base to print.
        base: String,
    },
    /// Creates a base.
    Create {
        /// Name of the base.
        name: String,
        /// Group that owns it.
        group: String,
    },
    /// Renames a base.
    Rename {
        /// Base to rename.
        base: String,
        /// Name of the base from now on.
        name: String,
    },
    /// Deletes a base with its documents.
    Delete {
        /// Base to delete.
        base: String,
    },
    /// Shares a base with exactly these groups beside its owner.
    Share {
        /// Base to share.
        base: String,
        /// Names or ids of the groups.
        groups: Vec<String>,
    },
    /// Stores the files of a folder as documents.
    Import {
        /// Base to store them in.
        base: String,
        /// Folder whose files are stored.
        folder: PathBuf,
    },
    /// Writes the files of all documents into a folder.
    Export {
        /// Base to export.
        base: String,
        /// Folder, which must not exist or be empty.
        folder: PathBuf,
    },
    /// Queues all documents that failed again.
    Retry {
        /// Base of the documents.
        base: String,
    },
    /// Queues all documents again.
    Reindex {
        /// Base of the documents.
        base: String,
    },
    /// Reports documents that are not ready, and chunks without a point.
    Verify {
        /// Base to verify.
        base: String,
    },
}

impl KbCommand {
    /// Parses the arguments after `admin kb`.
    pub(super) fn parse(words: &[&str]) -> Result<Self, Reason> {
        let owned = |text: &str| text.to_owned();
        Ok(match *words {
            ["list"] => Self::List,
            ["show", base] => Self::Show { base: owned(base) },
            ["create", name, group] => Self::Create { name: owned(name), group: owned(group) },
            ["rename", base, name] => Self::Rename { base: owned(base), name: owned(name) },
            ["delete", base] => Self::Delete { base: owned(base) },
            ["share", base, ref groups @ ..] => Self::Share {
                base: owned(base),
                groups: groups.iter().map(|it| owned(it)).collect(),
            },
            ["import", base, folder] => Self::Import { base: owned(base), folder: folder.into() },
            ["export", base, folder] => Self::Export { base: owned(base), folder: folder.into() },
            ["retry", base] => Self::Retry { base: owned(base) },
            ["reindex", base] => Self::Reindex { base: owned(base) },
            ["verify", base] => Self::Verify { base: owned(base) },
            [verb, ..] => return Err(invalid_admin_command(&format!("kb {verb}"), VERBS)),
            [] => return Err(Reason::source(VERBS)),
        })
    }
}
