//! Connector: the permission of pods to connect, and of groups to use them.

use pia_kernel::{ConnectorId, GroupId, OperatorId, Timestamp};

use crate::ports::tool_server::McpEndpoint;
use crate::token::ConnectorTokenHash;

/// Connector, through which an operator's pods or an MCP server bring tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connector {
    /// Id of the connector.
    pub id: ConnectorId,
    /// Name, unique in any case.
    pub name: String,
    /// Operator whose skill its pods run, if it has one.
    pub operator: Option<OperatorId>,
    /// Groups whose members may use its pods.
    pub groups: Vec<GroupId>,
    /// Time of its creation.
    pub created_at: Timestamp,
    /// Valid tokens, the oldest first.
    pub tokens: Vec<ValidToken>,
    /// URL of the MCP server whose tools it brings, instead of pods.
    pub mcp_url: Option<String>,
}

/// Token of a connector that has not expired. It cannot be read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValidToken {
    /// Hash by which the token is found.
    pub hash: ConnectorTokenHash,
    /// Time of its creation.
    pub created_at: Timestamp,
    /// Time of expiry.
    pub expires_at: Timestamp,
}

impl Connector {
    /// Returns the expiry of the token that lasts longest; `None` if all have expired or
    /// were revoked.
    pub fn token_expires_at(&self) -> Option<Timestamp> {
        self.tokens.iter().map(|it| it.expires_at).max()
    }
}

/// Connector to be created.
#[derive(Debug, Clone)]
pub struct ConnectorDraft {
    /// Name, up to 100 characters.
    pub name: String,
    /// Groups that it is granted to.
    pub groups: Vec<GroupId>,
    /// Name of the skill that its pods run, which must be valid; an operator is
    /// created for it and granted to the groups.
    pub skill: Option<String>,
    /// MCP server whose tools it brings, instead of pods.
    pub mcp: Option<McpEndpoint>,
}
