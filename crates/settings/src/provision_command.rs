//! `--provision-pod`: arguments with which an operator prepares a pod.

use pia_kernel::{ConnectorId, GroupId};
use uuid::Uuid;

use super::error::Reason;

const VERBS: &str = "unknown `--provision-pod` command: use create or issue-token";
const CREATE: &str = "`--provision-pod create` needs --name NAME, and takes --grant-group GUID and \
                      --operator-skill SKILL";
const ISSUE_TOKEN: &str = "`--provision-pod issue-token` needs --connector GUID and nothing else";

/// Preparation of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProvisionCommand {
    /// Creates a connector with a token.
    Create {
        /// Name of the connector.
        name: String,
        /// Groups that it is granted to.
        groups: Vec<GroupId>,
        /// Skill that its pods run.
        skill: Option<String>,
    },
    /// Creates a further token of a connector.
    IssueToken {
        /// Connector that the token is for.
        connector: ConnectorId,
    },
}

/// Arguments of the command that were parsed so far.
#[derive(Debug, Default)]
pub(super) struct ProvisionArguments {
    verb: String,
    name: Option<String>,
    groups: Vec<GroupId>,
    skill: Option<String>,
    connector: Option<ConnectorId>,
}

impl ProvisionArguments {
    /// Begins the arguments after `--provision-pod`.
    pub(super) fn new(verb: String) -> Self {
        Self { verb, ..Self::default() }
    }

    /// Returns whether an option belongs to the command.
    pub(super) fn takes(option: &str) -> bool {
        ["name", "grant-group", "operator-skill", "connector"].contains(&option)
    }

    /// Adds an option.
    pub(super) fn option(&mut self, option: &str, value: String) -> Result<(), Reason> {
        let is_first = match option {
            "name" => self.name.replace(value).is_none(),
            "operator-skill" => self.skill.replace(value).is_none(),
            "grant-group" => {
                self.groups.push(GroupId(id(&value)?));
                true
            }
            _ => self.connector.replace(ConnectorId(id(&value)?)).is_none(),
        };
        if is_first { Ok(()) } else { Err(Reason::source("expected each option once")) }
    }

    /// Returns the command.
    pub(super) fn command(self) -> Result<ProvisionCommand, Reason> {
        let Self { verb, name, groups, skill, connector } = self;
        match (verb.as_str(), name, connector) {
            ("create", Some(name), None) => Ok(ProvisionCommand::Create { name, groups, skill }),
            ("create", ..) => Err(Reason::source(CREATE)),
            ("issue-token", None, Some(connector)) if groups.is_empty() && skill.is_none() => {
                Ok(ProvisionCommand::IssueToken { connector })
            }
            ("issue-token", ..) => Err(Reason::source(ISSUE_TOKEN)),
            _ => Err(Reason::source(VERBS)),
        }
    }
}

fn id(text: &str) -> Result<Uuid, Reason> {
    Uuid::parse_str(text).map_err(|_other| Reason::source("expected a GUID"))
}
