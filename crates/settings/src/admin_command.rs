//! `pia-server admin …`: arguments of administration commands.
//!
//! `CommandLine::parse` of `command.rs` passes each word to `word` and each option
//! to `option`, and at the end calls `command`, which matches the words. A command
//! of an area, as `group`, is parsed in its own file. `server/src/admin.rs` runs it.

use pia_identity::{DEFAULT_INVITATION_DAYS, MAX_INVITATION_DAYS, Role};
use pia_kernel::InvitationId;

use super::api_key_command::ApiKeyCommand;
use super::audit_command::AuditCommand;
use super::command::invalid_admin_command;
use super::credits_command::CreditsCommand;
use super::error::Reason;
use super::group_command::GroupCommand;
use super::kb_command::KbCommand;
use super::pods_command::PodsCommand;

const VERBS: &str = "unknown `admin` command: use grant, list, deactivate, reactivate, invite, \
                     invitations, revoke, group, kb, pods, credits, api-key or audit; see `--help`";
const ROLES: &str = "expected one of user, kb_manager, org_manager, admin";

/// Administration of accounts from the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdminCommand {
    /// Assigns a role.
    Grant {
        /// Email address of the account.
        email: String,
        /// Role to grant.
        role: Role,
    },
    /// Lists the administrators.
    List,
    /// Deactivates an account.
    Deactivate {
        /// Email address of the account.
        email: String,
    },
    /// Reactivates an account.
    Reactivate {
        /// Email address of the account.
        email: String,
    },
    /// Creates an invitation to register.
    Invite {
        /// Email address that may register; any if omitted.
        email: Option<String>,
        /// Role of the invited account.
        role: Role,
        /// Number of days for which the invitation is valid.
        days: u16,
    },
    /// Lists the valid invitations.
    Invitations,
    /// Revokes an invitation.
    Revoke {
        /// Id of the invitation.
        id: InvitationId,
    },
    /// Administers groups.
    Group(GroupCommand),
    /// Administers API keys.
    ApiKey(ApiKeyCommand),
    /// Administers budgets.
    Credits(CreditsCommand),
    /// Administers knowledge bases.
    Kb(KbCommand),
    /// Administers pods.
    Pods(PodsCommand),
    /// Verifies the audit log.
    Audit(AuditCommand),
}

/// Arguments after `admin`, as far as they were parsed.
#[derive(Default)]
pub(super) struct AdminArguments {
    words: Vec<String>,
    role: Option<Role>,
    days: Option<u16>,
}

impl AdminArguments {
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub(super) fn word(&mut self, word: &str) {
        self.words.push(word.to_owned());
    }

    /// Returns whether an option of this name exists: `role` or `days`.
    pub(super) fn takes(name: &str) -> bool {
        matches!(name, "role" | "days")
    }

    pub(super) fn option(&mut self, name: &str, value: &str) -> Result<(), Reason> {
        if name == "role" {
            self.role = Some(parse_role(value)?);
        } else {
            self.days = Some(parse_days(value)?);
        }
        Ok(())
    }

    /// Returns the command that the arguments form.
    pub(super) fn command(self) -> Result<AdminCommand, Reason> {
        let Self { words, role, days } = self;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let has_options = role.is_some() || days.is_some();

        match words.as_slice() {
            ["grant", email] if days.is_none() => Ok(AdminCommand::Grant {
                email: (*email).to_owned(),
                role: role.unwrap_or(Role::Admin),
            }),
            ["invite"] | ["invite", _] => Ok(AdminCommand::Invite {
                email: words.get(1).map(|it| (*it).to_owned()),
                role: role.unwrap_or_default(),
                days: days.unwrap_or(DEFAULT_INVITATION_DAYS),
            }),
            [verb, ..] if has_options => Err(invalid_admin_command(verb, VERBS)),
            plain_words => parse_without_options(plain_words),
        }
    }
}

/// Parses a command that takes no options.
fn parse_without_options(words: &[&str]) -> Result<AdminCommand, Reason> {
    let owned = |email: &&str| (*email).to_owned();
    Ok(match words {
        ["list"] => AdminCommand::List,
        ["deactivate", email] => AdminCommand::Deactivate { email: owned(email) },
        ["reactivate", email] => AdminCommand::Reactivate { email: owned(email) },
        ["invitations"] => AdminCommand::Invitations,
        ["revoke", id] => AdminCommand::Revoke { id: parse_invitation_id(id)? },
        ["group", arguments @ ..] => AdminCommand::Group(GroupCommand::parse(arguments)?),
        ["credits", arguments @ ..] => AdminCommand::Credits(CreditsCommand::parse(arguments)?),
        ["api-key", arguments @ ..] => AdminCommand::ApiKey(ApiKeyCommand::parse(arguments)?),
        ["pods", arguments @ ..] => AdminCommand::Pods(PodsCommand::parse(arguments)?),
        ["kb", arguments @ ..] => AdminCommand::Kb(KbCommand::parse(arguments)?),
        ["audit", arguments @ ..] => AdminCommand::Audit(AuditCommand::parse(arguments)?),
        [verb, ..] => return Err(invalid_admin_command(verb, VERBS)),
        [] => return Err(Reason::source(VERBS)),
    })
}

fn parse_role(text: &str) -> Result<Role, Reason> {
    let name = text.to_ascii_lowercase().replace('-', "_");
    Role::of_name(&name).ok_or(Reason::source(ROLES))
}

fn parse_days(text: &str) -> Result<u16, Reason> {
    match text.parse() {
        Ok(days @ 1..=MAX_INVITATION_DAYS) => Ok(days),
        _ => Err(Reason::source("expected a number of days, 1 to 365")),
    }
}

fn parse_invitation_id(text: &str) -> Result<InvitationId, Reason> {
    uuid::Uuid::parse_str(text)
        .map(InvitationId)
        .map_err(|_err| Reason::source("expected an invitation's id"))
}
