//! Rules of an account's group for its calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use pia_kernel::{ApiKeyId, GroupId, Unavailable};

use crate::routing::target::Mode;

/// Limits on the spending of a group and its members, in whole credits; 0 is no
/// limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CreditLimits {
    /// A member within any hour.
    pub hourly: i64,
    /// A member within any 24 hours.
    pub daily: i64,
    /// A member within a calendar week: their allowance.
    pub weekly: i64,
    /// All members within any 24 hours.
    pub group_daily: i64,
    /// All members within a calendar week.
    pub group_weekly: i64,
    /// True if what members left of last week's allowances is there for all
    /// this week.
    pub pool: bool,
}

impl CreditLimits {
    /// Returns whether there is nothing to watch.
    pub fn is_unlimited(&self) -> bool {
        let Self { hourly, daily, weekly, group_daily, group_weekly, pool: _ } = *self;
        [hourly, daily, weekly, group_daily, group_weekly].iter().all(|it| *it <= 0)
    }
}

/// Share of its owner's budget that a key may spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiKeyBudget {
    /// Id of the key.
    pub key: ApiKeyId,
    /// So many whole credits within a calendar week; 0 is no limit.
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
