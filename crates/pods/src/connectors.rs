//! Administration of connectors, and the sign-in of pods.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{
    Clock, ConnectorId, GroupId, OperatorId, Secret, SideEffects, Unavailable, UserId, utf16_len,
};

use crate::connected_pod::ConnectedPod;
use crate::connector::{Connector, ConnectorDraft};
use crate::error::ConnectorError;
use crate::ports::connector_store::{
    ConnectorChanged, ConnectorStore, NewConnector, NewConnectorToken,
};
use crate::ports::pod_registry::PodRegistry;
use crate::token::{ConnectorToken, ConnectorTokenHash};

/// Lifetime of a token.
const LIFETIME: Duration = Duration::from_hours(24 * 365);
/// Maximum length of a name, in UTF-16 code units.
const MAX_NAME_CHARS: usize = 100;

/// Administration of connectors. A user is `None` for the command line.
#[derive(Clone)]
pub struct Connectors {
    /// Store of the connectors.
    pub store: Arc<dyn ConnectorStore>,
    /// Registry of connected pods.
    pub registry: Arc<dyn PodRegistry>,
    /// Clock.
    pub clock: Arc<dyn Clock>,
}

/// Connector with a token that was just created.
#[derive(Debug, Clone)]
pub struct Provisioned {
    /// Connector.
    pub connector: ConnectorId,
    /// Operator of its skill, if it has one.
    pub operator: Option<OperatorId>,
    /// Token, which cannot be read again.
    pub token: Secret<String>,
    /// Groups that it is granted to.
    pub groups: Vec<GroupId>,
    /// Number of active accounts in these groups.
    pub member_count: i64,
}

/// Pod with a valid token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PodIdentity {
    /// Connector.
    pub connector: ConnectorId,
    /// Hash of the token.
    pub token: ConnectorTokenHash,
}

impl Connectors {
    /// Creates a connector with a token and, for a skill, an operator.
    pub async fn create(
        &self,
        by: Option<UserId>,
        draft: ConnectorDraft,
    ) -> Result<Provisioned, ConnectorError> {
        let ConnectorDraft { name, groups, skill } = draft;
        if name.trim().is_empty() || utf16_len(&name) > MAX_NAME_CHARS {
            return Err(ConnectorError::InvalidName);
        }
        let (token, id) = (ConnectorToken::generate()?, ConnectorId::generate());
        let operator = skill.is_some().then(OperatorId::generate);
        let connector = Connector {
            id,
            name,
            operator,
            groups: groups.clone(),
            created_at: self.clock.now(),
            token_expires_at: None,
        };
        let new = NewConnector { connector, skill, token: self.expiring(&token) };
        changed(self.store.create(new, self.effects(by, id, "Connector.Created")).await?)?;
        self.provisioned(id, operator, groups, token).await
    }

    /// Creates a further token of a connector, which stays valid beside the others.
    pub async fn issue_token(
        &self,
        by: Option<UserId>,
        id: ConnectorId,
    ) -> Result<Provisioned, ConnectorError> {
        let token = ConnectorToken::generate()?;
        let effects = self.effects(by, id, "Connector.TokenIssued");
        changed(self.store.add_token(id, self.expiring(&token), effects).await?)?;
        let found = self.list().await?.into_iter().find(|it| it.id == id);
        let Connector { operator, groups, .. } = found.ok_or(ConnectorError::NotFound)?;
        self.provisioned(id, operator, groups, token).await
    }

    /// Lists all connectors, by name.
    pub async fn list(&self) -> Result<Vec<Connector>, Unavailable> {
        self.store.list(self.clock.now()).await
    }

    /// Lists the pods that are connected to any instance.
    pub async fn connected(&self) -> Result<Vec<ConnectedPod>, Unavailable> {
        self.registry.connected(None, self.clock.now()).await
    }

    /// Replaces the groups that may use the pods and the skill of a connector.
    pub async fn grant(
        &self,
        by: Option<UserId>,
        id: ConnectorId,
        groups: Vec<GroupId>,
    ) -> Result<(), ConnectorError> {
        let effects = self.effects(by, id, "Connector.GroupsUpdated");
        changed(self.store.grant(id, groups, effects).await?)
    }

    /// Deletes all tokens of a connector: its pods are disconnected within five
    /// seconds.
    pub async fn revoke_tokens(
        &self,
        by: Option<UserId>,
        id: ConnectorId,
    ) -> Result<(), ConnectorError> {
        let effects = self.effects(by, id, "Connector.TokensRevoked");
        changed(self.store.revoke_tokens(id, effects).await?)
    }

    /// Deletes a connector with its tokens and its operator.
    pub async fn delete(&self, by: Option<UserId>, id: ConnectorId) -> Result<(), ConnectorError> {
        let effects = self.effects(by, id, "Connector.Deleted");
        changed(self.store.delete(id, effects).await?)
    }

    /// Returns the pod with a presented token, unless that is unknown or expired.
    /// Nothing is cached.
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
        token: ConnectorToken,
    ) -> Result<Provisioned, ConnectorError> {
        let member_count = self.store.count_members(groups.clone()).await?;
        Ok(Provisioned { connector, operator, token: token.reveal(), groups, member_count })
    }

    fn effects(&self, by: Option<UserId>, id: ConnectorId, action: &'static str) -> SideEffects {
        SideEffects::of_object(self.clock.now(), by, format!("connector:{id}"), action)
    }
}

fn changed(outcome: ConnectorChanged) -> Result<(), ConnectorError> {
    match outcome {
        ConnectorChanged::Done => Ok(()),
        ConnectorChanged::NotFound => Err(ConnectorError::NotFound),
        ConnectorChanged::NameTaken => Err(ConnectorError::NameTaken),
        ConnectorChanged::UnknownGroup => Err(ConnectorError::UnknownGroup),
        ConnectorChanged::SkillTaken => Err(ConnectorError::SkillTaken),
    }
}
