//! Store of connectors and their tokens.

use async_trait::async_trait;
use pia_kernel::{ConnectorId, GroupId, SideEffects, Timestamp, Unavailable};

use crate::connector::Connector;
use crate::token::ConnectorTokenHash;

/// Token to be stored.
#[derive(Debug, Clone)]
pub struct NewConnectorToken {
    /// Hash.
    pub hash: ConnectorTokenHash,
    /// Time of its creation.
    pub created_at: Timestamp,
    /// Expiry.
    pub expires_at: Timestamp,
}

/// Connector to be stored with its first token.
#[derive(Debug, Clone)]
pub struct NewConnector {
    /// Connector.
    pub connector: Connector,
    /// Name of the skill of its operator, if it has one.
    pub skill: Option<String>,
    /// First token.
    pub token: NewConnectorToken,
}

/// Outcome of changing a connector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectorChanged {
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
}

/// Store of connectors.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait ConnectorStore: Send + Sync {
    /// Stores a connector with its operator, its grants and its token, or nothing.
    async fn create(
        &self,
        new: NewConnector,
        effects: SideEffects,
    ) -> Result<ConnectorChanged, Unavailable>;

    /// Lists all connectors, by name.
    async fn list(&self, now: Timestamp) -> Result<Vec<Connector>, Unavailable>;

    /// Replaces the groups of a connector, and of its operator.
    async fn grant(
        &self,
        id: ConnectorId,
        groups: Vec<GroupId>,
        effects: SideEffects,
    ) -> Result<ConnectorChanged, Unavailable>;

    /// Deletes a connector with its operator and its tokens.
    async fn delete(
        &self,
        id: ConnectorId,
        effects: SideEffects,
    ) -> Result<ConnectorChanged, Unavailable>;

    /// Stores a further token.
    async fn add_token(
        &self,
        id: ConnectorId,
        token: NewConnectorToken,
        effects: SideEffects,
    ) -> Result<ConnectorChanged, Unavailable>;

    /// Deletes all tokens of a connector.
    async fn revoke_tokens(
        &self,
        id: ConnectorId,
        effects: SideEffects,
    ) -> Result<ConnectorChanged, Unavailable>;

    /// Finds the connector of a token that has not expired.
    async fn find_token(
        &self,
        hash: ConnectorTokenHash,
        now: Timestamp,
    ) -> Result<Option<ConnectorId>, Unavailable>;

    /// Counts the active members of groups.
    async fn count_members(&self, groups: Vec<GroupId>) -> Result<i64, Unavailable>;
}
