//! `pia-server admin pods …`: arguments of the administration of pods.

use pia_kernel::ConnectorId;
use uuid::Uuid;

use super::command::invalid_admin_command;
use super::error::Reason;

const VERBS: &str = "unknown `admin pods` command: use list, revoke CONNECTOR or drain POD";

/// Administration of pods from the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PodsCommand {
    /// Lists the connectors with their connected pods.
    List,
    /// Revokes the tokens of a connector.
    Revoke {
        /// Connector whose tokens are revoked.
        connector: ConnectorId,
    },
    /// Ends a connected pod.
    Drain {
        /// Id of the pod.
        pod: Uuid,
    },
}

impl PodsCommand {
    /// Parses the arguments after `admin pods`.
    pub(super) fn parse(words: &[&str]) -> Result<Self, Reason> {
        let id =
            |text: &str| Uuid::parse_str(text).map_err(|_err| Reason::source("expected an id"));
        Ok(match words {
            ["list"] => Self::List,
            ["revoke", connector] => Self::Revoke { connector: ConnectorId(id(connector)?) },
            ["drain", pod] => Self::Drain { pod: id(pod)? },
            [verb, ..] => return Err(invalid_admin_command(&format!("pods {verb}"), VERBS)),
            [] => return Err(Reason::source(VERBS)),
        })
    }
}
