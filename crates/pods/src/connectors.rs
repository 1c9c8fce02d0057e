//! Administration of connectors, and the sign-in of pods.
//!
//! A token is returned once, when it is created; the store has its hash. A change
//! that takes something away empties this instance's cache of granted pods; other
//! instances notice within its maximum age. `rotate_token` is called for a pod,
//! all other changes are an administrator's.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{
    Clock, ConnectorId, GroupId, GroupSelection, OperatorId, Secret, SideEffects, Timestamp,
    Unavailable, UserId, utf16_len,
};

use crate::connected_pod::{ConnectedPod, PodId};
use crate::connector::{Connector, ConnectorDraft};
use crate::description::PodTool;
use crate::error::ConnectorError;
use crate::granted_pods::GrantedPods;
use crate::ports::connector_store::{
    ConnectorChangeOutcome, ConnectorStore, NewConnector, NewConnectorToken, TokenRotation,
};
use crate::ports::pod_registry::PodRegistry;
use crate::ports::tool_server::ToolServers;
use crate::token::{ConnectorToken, ConnectorTokenHash, ConnectorTokenId};

/// Lifetime of a token, from its creation.
const LIFETIME: Duration = Duration::from_hours(24 * 365);
/// Time for which a token is valid beside the one that replaces it, for a pod that ends
/// before it has stored the new one.
const OVERLAP: Duration = Duration::from_hours(24);
/// Maximum number of valid tokens of a connector beyond which pods cannot rotate.
const MAX_TOKENS: i64 = 100;
/// Maximum length of a name, in UTF-16 code units.
const MAX_NAME_CHARS: usize = 100;

/// Administration of connectors. A user is `None` for the command line.
#[derive(Clone)]
pub struct Connectors {
    /// Store of the connectors.
    pub store: Arc<dyn ConnectorStore>,
    /// Registry of connected pods.
    pub registry: Arc<dyn PodRegistry>,
    /// Pods that groups may use.
    pub granted: GrantedPods,
    /// MCP servers, by their connectors.
    pub servers: Arc<dyn ToolServers>,
    /// Clock by which tokens expire.
    pub clock: Arc<dyn Clock>,
}

/// Connector with a token that was just created.
#[derive(Debug, Clone)]
pub struct Provisioned {
    /// Connector that was created.
    pub connector: ConnectorId,
    /// Operator of its skill, if it has one.
    pub operator: Option<OperatorId>,
    /// Token, which cannot be read again; `None` for an MCP server.
    pub token: Option<Secret<String>>,
    /// Groups that it is granted to.
    pub groups: Vec<GroupId>,
    /// Number of active accounts in these groups.
    pub member_count: i64,
}

/// Token that replaces another one.
#[derive(Debug, Clone)]
pub struct RotatedToken {
    /// Token, which cannot be read again.
    pub token: Secret<String>,
    /// Hash of it, which replaces the previous one in the pod's identity.
    pub hash: ConnectorTokenHash,
    /// Time of the token's expiry.
    pub expires_at: Timestamp,
}

/// Pod with a valid token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PodIdentity {
    /// Connector to which the token belongs.
    pub connector: ConnectorId,
    /// Hash of the token.
    pub token: ConnectorTokenHash,
}

impl Connectors {
    /// Creates a connector: with a token and, for a skill, an operator; or with an MCP
    /// server, whose URL must be permitted.
    pub async fn create(
        &self,
        by: Option<UserId>,
        draft: ConnectorDraft,
    ) -> Result<Provisioned, ConnectorError> {
        let ConnectorDraft { name, groups, skill, mcp } = draft;
        if name.trim().is_empty()
            || utf16_len(&name) > MAX_NAME_CHARS
            || name.chars().any(char::is_control)
        {
            return Err(ConnectorError::InvalidName);
        }
        if mcp.is_some() && skill.is_some() {
            return Err(ConnectorError::IsMcp);
        }
        // PostgreSQL stores no NUL, which parsers of URLs encode.
        if mcp.as_ref().is_some_and(|it| it.url.contains('\0') || !self.servers.permits(it)) {
            return Err(ConnectorError::InvalidMcp);
        }

        let id = ConnectorId::generate();
        let token = mcp.is_none().then(ConnectorToken::generate).transpose()?;
        let operator = skill.is_some().then(OperatorId::generate);
        let connector = Connector {
            id,
            name,
            operator,
            groups: groups.clone(),
            created_at: self.clock.now(),
            tokens: Vec::new(),
            mcp_url: mcp.as_ref().map(|it| it.url.clone()),
        };

        let new_token = token.as_ref().map(|it| self.expiring(it));
        let new = NewConnector { connector, skill, token: new_token, mcp };
        check_outcome(self.store.create(new, self.effects(by, id, "Connector.Created")).await?)?;

        self.provisioned(id, operator, groups, token).await
    }

    /// Creates a further token of a connector, which stays valid beside the others.
    pub async fn issue_token(
        &self,
        by: Option<UserId>,
        id: ConnectorId,
    ) -> Result<Provisioned, ConnectorError> {
        let Connector { operator, groups, .. } = self.of_pods(id).await?;
        let token = ConnectorToken::generate()?;
        let effects = self.effects(by, id, "Connector.TokenIssued");
        check_outcome(self.store.add_token(id, self.expiring(&token), effects).await?)?;
        self.provisioned(id, operator, groups, Some(token)).await
    }

    /// Replaces the token of a connected pod, which gets the new one. The old token
    /// remains valid for a day.
    pub async fn rotate_token(
        &self,
        pod: PodId,
        identity: PodIdentity,
    ) -> Result<RotatedToken, ConnectorError> {
        let token = ConnectorToken::generate()?;
        let id = identity.connector;
        let new = self.expiring(&token);
        let hash = new.hash;
        let expires_at = new.expires_at;
        let old_expires_at = self.clock.now() + OVERLAP;
        let rotation =
            TokenRotation { pod, old: identity.token, old_expires_at, new, limit: MAX_TOKENS };
        let effects = self.effects(None, id, "Connector.TokenRotated");
        check_outcome(self.store.rotate_token(id, rotation, effects).await?)?;
        Ok(RotatedToken { token: token.reveal(), hash, expires_at })
    }

    /// Lets a connected pod end: it gets no further calls, and is disconnected once
    /// those in progress have ended.
    pub async fn drain(&self, by: Option<UserId>, pod: PodId) -> Result<(), ConnectorError> {
        let object = format!("pod:{}", pod.0);
        let effects = SideEffects::of_object(self.clock.now(), by, object, "Pod.Drained");
        let is_connected = self.registry.drain(pod, effects).await?;
        self.granted.invalidate();
        if is_connected { Ok(()) } else { Err(ConnectorError::NoPod) }
    }

    /// Lists all connectors, by name.
    pub async fn list(&self) -> Result<Vec<Connector>, Unavailable> {
        self.store.list(self.clock.now()).await
    }

    /// Returns a connector.
    pub async fn find(&self, id: ConnectorId) -> Result<Connector, ConnectorError> {
        let connectors = self.list().await?;
        connectors.into_iter().find(|it| it.id == id).ok_or(ConnectorError::NotFound)
    }

    /// Returns a connector of pods.
    async fn of_pods(&self, id: ConnectorId) -> Result<Connector, ConnectorError> {
        let connector = self.find(id).await?;
        if connector.mcp_url.is_some() { Err(ConnectorError::IsMcp) } else { Ok(connector) }
    }

    /// Lists the pods that are connected to any instance.
    pub async fn connected(&self) -> Result<Vec<ConnectedPod>, Unavailable> {
        self.registry.list_connected(None, self.clock.now()).await
    }

    /// Lists the tools that the connected pods of a connector bring, by name.
    pub async fn tools(&self, id: ConnectorId) -> Result<Vec<PodTool>, ConnectorError> {
        self.find(id).await?;
        let pods = self.connected().await?;
        let own_pods = pods.into_iter().filter(|it| it.connector == id);
        let mut tools: Vec<_> = own_pods.flat_map(|it| it.description.tools).collect();
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        tools.dedup_by(|a, b| a.name == b.name);
        Ok(tools)
    }

    /// Lets the selected groups use the pods and the skill of a connector.
    pub async fn grant(
        &self,
        by: Option<UserId>,
        id: ConnectorId,
        groups: GroupSelection,
    ) -> Result<(), ConnectorError> {
        let effects = self.effects(by, id, "Connector.GroupsUpdated");
        let outcome = self.store.grant(id, groups, effects).await?;
        self.granted.invalidate();
        check_outcome(outcome)
    }

    /// Deletes a token of a connector, or all: the pods that connected with it are
    /// disconnected within five seconds.
    pub async fn revoke_tokens(
        &self,
        by: Option<UserId>,
        id: ConnectorId,
        token: Option<ConnectorTokenId>,
    ) -> Result<(), ConnectorError> {
        self.of_pods(id).await?;
        let effects = self.effects(by, id, "Connector.TokensRevoked");
        let outcome = self.store.revoke_tokens(id, token, effects).await?;
        self.granted.invalidate();
        check_outcome(outcome)
    }

    /// Deletes a connector with its tokens and its operator.
    pub async fn delete(&self, by: Option<UserId>, id: ConnectorId) -> Result<(), ConnectorError> {
        let effects = self.effects(by, id, "Connector.Deleted");
        let outcome = self.store.delete(id, effects).await?;
        self.granted.invalidate();
        check_outcome(outcome)
    }
    /// Returns the pod that presents a token; `None` if the token is unknown or has
    /// expired. Each call reads the store.
    pub async fn authenticate(&self, presented: &str) -> Result<Option<PodIdentity>, Unavailable> {
        let Some(token) = ConnectorToken::parse(presented).map(|it| it.hash()) else {
            return Ok(None);
        };
        let connector = self.store.find_token(token, self.clock.now()).await?;
        Ok(connector.map(|connector| PodIdentity { connector, token }))
    }

    fn expiring(&self, token: &ConnectorToken) -> NewConnectorToken {
        let created_at = self.clock.now();
        NewConnectorToken { hash: token.hash(), created_at, expires_at: created_at + LIFETIME }
    }

    async fn provisioned(
        &self,
        connector: ConnectorId,
        operator: Option<OperatorId>,
        groups: Vec<GroupId>,
        token: Option<ConnectorToken>,
    ) -> Result<Provisioned, ConnectorError> {
        let member_count = self.store.count_members(groups.clone()).await?;
        Ok(Provisioned {
            connector,
            operator,
            token: token.map(ConnectorToken::reveal),
            groups,
            member_count,
        })
    }

    fn effects(&self, by: Option<UserId>, id: ConnectorId, action: &'static str) -> SideEffects {
        SideEffects::of_object(self.clock.now(), by, format!("connector:{id}"), action)
    }
}

fn check_outcome(outcome: ConnectorChangeOutcome) -> Result<(), ConnectorError> {
    match outcome {
        ConnectorChangeOutcome::Done => Ok(()),
        ConnectorChangeOutcome::NotFound => Err(ConnectorError::NotFound),
        ConnectorChangeOutcome::NameTaken => Err(ConnectorError::NameTaken),
        ConnectorChangeOutcome::UnknownGroup => Err(ConnectorError::UnknownGroup),
        ConnectorChangeOutcome::SkillTaken => Err(ConnectorError::SkillTaken),
        ConnectorChangeOutcome::TooManyTokens => Err(ConnectorError::TooManyTokens),
    }
}
