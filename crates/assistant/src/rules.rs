//! Rules of an account's group for its calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use pia_kernel::{ApiKeyId, CreditLimits, GroupId, Unavailable};

use crate::routing::target::Mode;

/// Share of its owner's budget that a key may spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiKeyBudget {
    /// Id of the key.
    pub key: ApiKeyId,
    /// Whole credits per calendar week; 0 is no limit.
    pub weekly: i64,
}

/// Rules of a group for its members' calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GroupRules {
    /// Catalogue entry that serves a mode, before all else (`ModeProviderIds`).
    pub modes: BTreeMap<Mode, String>,
    /// Catalogue entry that serves a persona's type while talking
    /// (`PersonaTypeProviderIds`); the types in lower case.
    pub persona_types: BTreeMap<String, String>,
    /// The entries that a request may name as its `model`.
    pub models: Vec<String>,
    /// Limits on spending.
    pub credits: CreditLimits,
    /// True if it is the group of those who do not pay.
    pub free: bool,
}

/// Source of the rules of groups.
///
/// A copy may let pass and nothing else: whoever would refuse for what
/// [`of`](Self::rules_of) says asks [`fresh`](Self::fresh) before.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait Rules: Send + Sync {
    /// The rules of a group, five seconds old at most; those of no limits for
    /// a group that is gone.
    async fn rules_of(&self, group: GroupId) -> Result<Arc<GroupRules>, Unavailable>;

    /// Returns the current rules, not cached ones.
    async fn fresh(&self, group: GroupId) -> Result<Arc<GroupRules>, Unavailable>;
}

/// A server whose groups say nothing.
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
