//! `pia-server admin credits …`: arguments of the administration of budgets.

use super::command::invalid_admin_command;
use super::error::Reason;

const VERBS: &str = "unknown `admin credits` command: use check or top-up; see `--help`";
const MAX_CREDITS: i64 = 1_000_000_000;

/// Administration of budgets from the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CreditsCommand {
    /// Compares reserved credits with the reservations of open calls.
    Check,
    /// Adds credits to a group.
    TopUp {
        /// Group, by its id or its name.
        group: String,
        /// Number of credits.
        credits: i64,
    },
}

impl CreditsCommand {
    /// Parses the arguments after `admin credits`.
    pub(super) fn parse(words: &[&str]) -> Result<Self, Reason> {
        match words {
            ["check"] => Ok(Self::Check),
            ["top-up", group, credits] => {
                let credits = credits
                    .parse()
                    .ok()
                    .filter(|it| (1..=MAX_CREDITS).contains(it))
                    .ok_or(Reason::source("expected a number of credits, 1 to 1000000000"))?;
                Ok(Self::TopUp { group: (*group).to_owned(), credits })
            }
            [verb, ..] => Err(invalid_admin_command(&format!("credits {verb}"), VERBS)),
            [] => Err(Reason::source(VERBS)),
        }
    }
}
