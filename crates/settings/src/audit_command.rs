//! `pia-server admin audit …`: verification of the audit log.

use std::path::PathBuf;

use super::command::invalid_admin_command;
use super::error::Reason;

const VERBS: &str = "unknown `admin audit` command: use verify [FILE] or checkpoint";

/// Verification of the audit log from the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditCommand {
    /// Verifies every entry.
    Verify {
        /// File of a checkpoint that was exported earlier.
        checkpoint: Option<PathBuf>,
    },
    /// Prints the signed end of the log.
    Checkpoint,
}

impl AuditCommand {
    /// Parses the arguments after `admin audit`.
    pub(super) fn parse(words: &[&str]) -> Result<Self, Reason> {
        match words {
            ["verify"] => Ok(Self::Verify { checkpoint: None }),
            ["verify", file] => Ok(Self::Verify { checkpoint: Some(file.into()) }),
            ["checkpoint"] => Ok(Self::Checkpoint),
            [verb, ..] => Err(invalid_admin_command(&format!("audit {verb}"), VERBS)),
            [] => Err(Reason::source(VERBS)),
        }
    }
}
