//! Rules of groups for their members' calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use pia_kernel::{ApiKeyId, CreditLimits, GroupId, Unavailable};

use crate::routing::target::Mode;

/// Source of the rules of groups.
///
/// Cached rules may admit a call, but not refuse it: before a refusal because
/// of [`rules_of`](Self::rules_of), callers must check [`fresh`](Self::fresh).
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait Rules: Send + Sync {
    /// Returns the rules of a group, at most five seconds old; rules without
    /// limits for a deleted group.
    async fn rules_of(&self, group: GroupId) -> Result<Arc<GroupRules>, Unavailable>;

    /// Returns the current rules, not cached ones.
    async fn fresh(&self, group: GroupId) -> Result<Arc<GroupRules>, Unavailable>;
}

/// Budget of an API key, within that of its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiKeyBudget {
    /// Id of the key.
    pub key: ApiKeyId,
    /// Credits per calendar week; 0 means no limit.
    pub weekly: i64,
}

/// Rules of a group for its members' calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GroupRules {
    /// Catalogue entries by mode (`ModeProviderIds`).
    pub modes: BTreeMap<Mode, String>,
    /// Catalogue entries by persona type in lower case, for mode `Assistant`
    /// (`PersonaTypeProviderIds`).
    pub persona_types: BTreeMap<String, String>,
    /// Entries that a request may name as its `model`.
    pub models: Vec<String>,
    /// Limits on spending, of members and of the group.
    pub credits: CreditLimits,
    /// Set if it is the group of users without a paid plan.
    pub free: bool,
}

/// Source of empty rules.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoRules;

#[async_trait]
impl Rules for NoRules {
    async fn rules_of(&self, _group: GroupId) -> Result<Arc<GroupRules>, Unavailable> {
        Ok(Arc::default())
    }

    async fn fresh(&self, _group: GroupId) -> Result<Arc<GroupRules>, Unavailable> {
        Ok(Arc::default())
    }
}
