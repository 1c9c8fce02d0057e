//! Quotas of items: how many of each channel a push adds, and may add.
//!
//! The store calls in this order, within its transaction: `of_plan`, then a count
//! of the live items of `channels`, then `check`. A push that adds nothing to a
//! channel is accepted even if the channel is over its limit, so that a lowered
//! limit never blocks changes and deletions.

use std::collections::{BTreeMap, HashMap};

use crate::channel::{Channel, LimitRule};
use crate::item::ItemKey;
use crate::limits::ItemLimits;
use crate::plan::{PushPlan, StoredItem};
use crate::push::MAX_CHANGES_PER_PUSH;

/// Numbers by which a push adds items to channels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ItemGrowth(BTreeMap<Channel, i64>);

/// Channel that a push would fill beyond its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaExceeded {
    /// Channel whose limit is exceeded.
    pub channel: Channel,
    /// Maximum number of its items.
    pub limit: u32,
    /// Number of its items before the push.
    pub current: u32,
}

impl ItemGrowth {
    /// Returns the growth of a plan over the stored items.
    pub fn of_plan(plan: &PushPlan, stored: &HashMap<ItemKey, StoredItem>) -> Self {
        let growth = Channel::ALL
            .into_iter()
            .map(|it| (it, plan.growth(it, stored)))
            .filter(|(_, more)| *more > 0)
            .collect();
        Self(growth)
    }

    /// Returns the channels that grow.
    pub fn channels(&self) -> Vec<Channel> {
        self.0.keys().copied().collect()
    }

    /// Checks the growth against the limits; `live_counts` has the current numbers
    /// of items of the growing channels. Returns the number of oldest items to
    /// drop, by channel.
    pub fn check(
        &self,
        live_counts: &HashMap<Channel, i64>,
        limits: &ItemLimits,
    ) -> Result<BTreeMap<Channel, i64>, QuotaExceeded> {
        let mut surpluses = BTreeMap::new();
        for (&channel, more) in &self.0 {
            let current = live_counts.get(&channel).copied().unwrap_or_default();
            let limit = limits.limit(channel);
            let surplus = current + more - i64::from(limit);

            match channel.rules().at_limit {
                _ if surplus <= 0 => {}
                LimitRule::Refuse => {
                    let current = u32::try_from(current).unwrap_or(u32::MAX);
                    return Err(QuotaExceeded { channel, limit, current });
                }
                LimitRule::DropOldest => {
                    // As many as one statement deletes; others follow with the
                    // next push.
                    let max = i64::try_from(MAX_CHANGES_PER_PUSH).unwrap_or(i64::MAX);
                    surpluses.insert(channel, surplus.min(max));
                }
            }
        }

        Ok(surpluses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(channel: Channel, more: i64, current: i64) -> Result<Option<i64>, (u32, u32)> {
        let limits = ItemLimits::default().with(channel, 5);
        let growth = ItemGrowth([(channel, more)].into());
        let surpluses = growth
            .check(&HashMap::from([(channel, current)]), &limits)
            .map_err(|it| (it.limit, it.current))?;
        Ok(surpluses.get(&channel).copied())
    }

    #[test]
    fn a_push_beyond_a_limit_is_rejected_or_drops_the_oldest() {
        assert_eq!(check(Channel::Todos, 1, 4), Ok(None));
        assert_eq!(check(Channel::Todos, 2, 4), Err((5, 4)));
        assert_eq!(check(Channel::Sessions, 1, 4), Ok(None));
        assert_eq!(check(Channel::Sessions, 3, 4), Ok(Some(2)));
        assert_eq!(check(Channel::Sessions, 5, 1_000_000), Ok(Some(30_000)));
    }
}
