//! Store of connectors and their tokens. It stores hashes of tokens that pods
//! present, and the tokens of MCP servers themselves, sealed, since this server
//! presents them.

use async_trait::async_trait;
use pia_kernel::{ConnectorId, GroupId, GroupSelection, SideEffects, Timestamp, Unavailable};

use crate::connected_pod::PodId;
use crate::connector::Connector;
use crate::ports::tool_server::McpEndpoint;
use crate::token::{ConnectorTokenHash, ConnectorTokenId};

/// Store of connectors.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait ConnectorStore: Send + Sync {
    /// Stores a connector with its operator, its grants and its token, or nothing.
    async fn create(
        &self,
        new: NewConnector,
        effects: SideEffects,
    ) -> Result<ConnectorChangeOutcome, Unavailable>;

    /// Lists all connectors, by name.
    async fn list(&self, now: Timestamp) -> Result<Vec<Connector>, Unavailable>;

    /// Lists the MCP servers of connectors. A token that cannot be opened is left out.
    async fn mcp_servers(&self) -> Result<Vec<(ConnectorId, McpEndpoint)>, Unavailable>;

    /// Grants a connector and its operator to the selected groups. Of concurrent changes none is
    /// lost.
    async fn grant(
        &self,
        id: ConnectorId,
        groups: GroupSelection,
        effects: SideEffects,
    ) -> Result<ConnectorChangeOutcome, Unavailable>;

    /// Deletes a connector with its operator and its tokens.
    async fn delete(
        &self,
        id: ConnectorId,
        effects: SideEffects,
    ) -> Result<ConnectorChangeOutcome, Unavailable>;

    /// Stores a further token.
    async fn add_token(
        &self,
        id: ConnectorId,
        token: NewConnectorToken,
        effects: SideEffects,
    ) -> Result<ConnectorChangeOutcome, Unavailable>;

    /// Replaces a token of a connector, and deletes its expired ones. The outcome is
    /// [`ConnectorChangeOutcome::NotFound`] if the old token is not valid.
    async fn rotate_token(
        &self,
        id: ConnectorId,
        rotation: TokenRotation,
        effects: SideEffects,
    ) -> Result<ConnectorChangeOutcome, Unavailable>;

    /// Deletes a token of a connector, or all of them. The outcome is
    /// [`ConnectorChangeOutcome::NotFound`] if the connector does not have that token.
    async fn revoke_tokens(
        &self,
        id: ConnectorId,
        token: Option<ConnectorTokenId>,
        effects: SideEffects,
    ) -> Result<ConnectorChangeOutcome, Unavailable>;

    /// Finds the connector of a token that has not expired.
    async fn find_token(
        &self,
        hash: ConnectorTokenHash,
        now: Timestamp,
    ) -> Result<Option<ConnectorId>, Unavailable>;

    /// Counts the active members of groups.
    async fn count_members(&self, groups: Vec<GroupId>) -> Result<i64, Unavailable>;
}

/// Token to be stored.
#[derive(Debug, Clone)]
pub struct NewConnectorToken {
    /// Hash of the token, which callers are identified by.
    pub hash: ConnectorTokenHash,
    /// Time of its creation.
    pub created_at: Timestamp,
    /// Time of expiry.
    pub expires_at: Timestamp,
}

/// Connector to be stored with its first token.
#[derive(Debug, Clone)]
pub struct NewConnector {
    /// Connector to be stored.
    pub connector: Connector,
    /// Name of the skill of its operator, if it has one.
    pub skill: Option<String>,
    /// First token; `None` for an MCP server, which needs none.
    pub token: Option<NewConnectorToken>,
    /// MCP server; `None` for pods.
    pub mcp: Option<McpEndpoint>,
}

/// Replacement of a token by another one.
#[derive(Debug, Clone)]
pub struct TokenRotation {
    /// Connected pod, which has the new token from then on.
    pub pod: PodId,
    /// Hash of the old token.
    pub old: ConnectorTokenHash,
    /// Time after which the old token is not valid any more.
    pub old_expires_at: Timestamp,
    /// Token that replaces the old one.
    pub new: NewConnectorToken,
    /// Number of valid tokens of the connector from which the outcome is `TooManyTokens`.
    pub limit: i64,
}

/// Outcome of changing a connector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectorChangeOutcome {
    /// Change is stored.
    Done,
    /// Connector does not exist.
    NotFound,
    /// Another connector has this name.
    NameTaken,
    /// One of the groups does not exist.
    UnknownGroup,
    /// Another operator has a skill of this name.
    SkillTaken,
    /// Connector has as many tokens as it may.
    TooManyTokens,
}
