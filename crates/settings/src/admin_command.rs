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
            let role = Role::of_name(&value.to_ascii_lowercase().replace('-', "_"));
            self.role = Some(role.ok_or(Reason::source(ROLES))?);
            return Ok(());
        }
        let days = value.parse().ok().filter(|it| (1..=MAX_INVITATION_DAYS).contains(it));
        self.days = Some(days.ok_or(Reason::source("expected a number of days, 1 to 365"))?);
        Ok(())
    }

    /// Returns the command that the arguments form.
    pub(super) fn command(self) -> Result<AdminCommand, Reason> {
        let Self { words, role, days } = self;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let no_options = role.is_none() && days.is_none();
        let owned = |email: &&str| (*email).to_owned();
        let command = match words.as_slice() {
            ["grant", email] if days.is_none() => {
                AdminCommand::Grant { email: owned(email), role: role.unwrap_or(Role::Admin) }
            }
            ["invite", email @ ..] if email.len() <= 1 => AdminCommand::Invite {
                email: email.first().map(owned),
                role: role.unwrap_or_default(),
                days: days.unwrap_or(DEFAULT_INVITATION_DAYS),
            },
            ["list"] if no_options => AdminCommand::List,
            ["deactivate", email] if no_options => AdminCommand::Deactivate { email: owned(email) },
            ["reactivate", email] if no_options => AdminCommand::Reactivate { email: owned(email) },
            ["invitations"] if no_options => AdminCommand::Invitations,
            ["revoke", id] if no_options => {
                let id = uuid::Uuid::parse_str(id).map(InvitationId);
                let invalid = |_err| Reason::source("expected an invitation's id");
                AdminCommand::Revoke { id: id.map_err(invalid)? }
            }
            ["group", words @ ..] if no_options => AdminCommand::Group(GroupCommand::parse(words)?),
            ["credits", words @ ..] if no_options => {
                AdminCommand::Credits(CreditsCommand::parse(words)?)
            }
            ["api-key", words @ ..] if no_options => {
                AdminCommand::ApiKey(ApiKeyCommand::parse(words)?)
            }
            ["pods", words @ ..] if no_options => AdminCommand::Pods(PodsCommand::parse(words)?),
            ["kb", words @ ..] if no_options => AdminCommand::Kb(KbCommand::parse(words)?),
            ["audit", words @ ..] if no_options => AdminCommand::Audit(AuditCommand::parse(words)?),
            [verb, ..] => return Err(invalid_admin_command(verb, VERBS)),
            [] => return Err(Reason::source(VERBS)),
        };

        Ok(command)
    }
}
