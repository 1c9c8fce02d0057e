//! Rules of groups for AI calls, as the assistant applies them, cached for five
//! seconds.
//!
//! `policy` stores the settings of groups, `assistant` defines `GroupRules`; neither
//! knows the other. `rules_of` may answer from the cache, `fresh` never does.
//! `group_watch.rs` invalidates a group when its settings change.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pia_assistant::{GroupRules, Mode, Rules};
use pia_kernel::{Clock, GroupId, LiveSetting, RecentCache, Unavailable};
use pia_policy::{GroupSettings, GroupStore};
use tokio::runtime::Handle;

/// Maximum number of cached groups.
const MAX_CACHED_GROUPS: usize = 64_000;

/// Settings of groups as rules of AI calls.
pub(crate) struct PolicyGroupRules {
    store: Arc<dyn GroupStore>,
    /// Group of the free tier.
    free: LiveSetting<GroupId>,
    runtime: Handle,
    /// Timeout of a read from the store.
    limit: Duration,
    cache: RecentCache<GroupId, Arc<GroupRules>>,
}

impl PolicyGroupRules {
    /// Creates rules that are read on the current runtime.
    pub(crate) fn new(
        store: Arc<dyn GroupStore>,
        free: LiveSetting<GroupId>,
        clock: Arc<dyn Clock>,
        limit: Duration,
    ) -> Self {
        let cache = RecentCache::new(clock, MAX_CACHED_GROUPS);
        Self { store, free, runtime: Handle::current(), limit, cache }
    }

    /// Invalidates the rules of a group whose settings have changed.
    pub(crate) fn forget(&self, group: GroupId) {
        self.cache.invalidate(group, |it| *it == group);
    }
}

#[async_trait]
impl Rules for PolicyGroupRules {
    async fn rules_of(&self, group: GroupId) -> Result<Arc<GroupRules>, Unavailable> {
        match self.cache.get(group, &group) {
            Some(rules) => Ok(rules),
            None => self.fresh(group).await,
        }
    }

    async fn fresh(&self, group: GroupId) -> Result<Arc<GroupRules>, Unavailable> {
        let pending_read = self.cache.begin_read(group);
        let free = *self.free.get() == group;
        let store = Arc::clone(&self.store);
        // Runs to completion on the database's runtime: an AI call is dropped
        // when its client disconnects, and a query must not be.
        let reading = self.runtime.spawn(async move { store.settings(group).await });
        let settings = tokio::time::timeout(self.limit, reading)
            .await
            .map_err(|err| Unavailable::new("groups", err))?
            .map_err(|err| Unavailable::new("groups", err))??;
        let exists = settings.is_some();
        let rules = Arc::new(to_group_rules(settings.unwrap_or_default(), free));

        if exists {
            self.cache.insert(group, group, Arc::clone(&rules), pending_read);
        }

        Ok(rules)
    }
}

/// Converts settings; modes that this version does not know are left out.
fn to_group_rules(settings: GroupSettings, free: bool) -> GroupRules {
    let GroupSettings { quotas: _, credits, modes, persona_types, models } = settings;
    let modes = modes
        .into_iter()
        .filter_map(|(mode, entry)| Some((Mode::from_name(&mode)?, entry)))
        .collect();
    GroupRules { modes, persona_types, models, credits, free }
}

#[cfg(test)]
mod tests {
    use pia_kernel::{CreditLimits, Timestamp};
    use pia_policy::{MODES, MockGroupStore, SettingChange};
    use pia_testkit::ManualClock;

    use super::*;

    /// Returns a store that reports a higher hourly limit at each read.
    fn counting() -> MockGroupStore {
        let mut store = MockGroupStore::new();
        let reads = std::sync::atomic::AtomicI64::new(0);
        store.expect_settings().returning(move |_| {
            let read = reads.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let credits = CreditLimits { hourly: read + 1, ..CreditLimits::default() };
            Ok(Some(GroupSettings { credits, ..GroupSettings::default() }))
        });
        store
    }

    fn rules_with(store: MockGroupStore, free: GroupId) -> (PolicyGroupRules, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::new(Timestamp::UNIX_EPOCH));
        let rules = PolicyGroupRules::new(
            Arc::new(store),
            LiveSetting::new(free),
            Arc::<ManualClock>::clone(&clock),
            Duration::from_secs(5),
        );
        (rules, clock)
    }

    #[tokio::test]
    async fn rules_are_looked_up_again_after_five_seconds() {
        let (rules, clock) = rules_with(counting(), GroupId::generate());
        let group = GroupId::generate();
        let mut limits = Vec::new();

        for pause in [0, 5, 1, 4] {
            clock.advance(Duration::from_secs(pause));
            limits.push(rules.rules_of(group).await.unwrap().credits.hourly);
        }

        assert_eq!(limits, [1, 1, 2, 2]);
    }

    #[tokio::test]
    async fn fresh_rules_bypass_the_cache_and_replace_it() {
        let (rules, _) = rules_with(counting(), GroupId::generate());
        let group = GroupId::generate();
        rules.rules_of(group).await.unwrap();

        let fresh = rules.fresh(group).await.unwrap();
        let after = rules.rules_of(group).await.unwrap();

        assert_eq!(fresh.credits.hourly, 2);
        assert_eq!(after.credits.hourly, 2);
    }

    #[tokio::test]
    async fn forgotten_rules_are_read_again_and_no_others() {
        let (rules, _) = rules_with(counting(), GroupId::generate());
        let changed_group = GroupId::generate();
        let other_group = GroupId::generate();
        for group in [changed_group, other_group] {
            rules.rules_of(group).await.unwrap();
        }

        rules.forget(changed_group);

        assert_eq!(rules.rules_of(other_group).await.unwrap().credits.hourly, 2);
        assert_eq!(rules.rules_of(changed_group).await.unwrap().credits.hourly, 3);
    }

    #[tokio::test]
    async fn all_settings_of_a_group_become_rules() {
        let modes = MODES.map(|it| SettingChange::Mode(it.to_owned(), Some(it.to_lowercase())));
        let others = [
            SettingChange::PersonaType("fast".to_owned(), Some("small".to_owned())),
            SettingChange::Models(vec!["big".to_owned()]),
            SettingChange::Pool(true),
        ];
        let settings = GroupSettings::default().with(&modes).unwrap().with(&others).unwrap();
        let credits = CreditLimits {
            hourly: 1,
            daily: 2,
            weekly: 3,
            group_daily: 4,
            group_weekly: 5,
            pool: true,
        };
        let settings = GroupSettings { credits, ..settings };
        let mut store = MockGroupStore::new();
        store.expect_settings().returning(move |_| Ok(Some(settings.clone())));
        let (rules, _) = rules_with(store, GroupId::generate());

        let applied_rules = rules.rules_of(GroupId::generate()).await.unwrap();

        let modes = Mode::ALL.map(|it| (it, it.name().to_lowercase()));
        assert_eq!(applied_rules.modes, modes.into());
        assert_eq!(applied_rules.persona_types, [("fast".to_owned(), "small".to_owned())].into());
        assert_eq!(applied_rules.models, ["big"]);
        assert_eq!(applied_rules.credits, credits);
        assert!(!applied_rules.free);
    }

    #[tokio::test]
    async fn only_the_configured_group_is_the_free_tier() {
        let free = GroupId::generate();
        let other = GroupId::generate();
        let (rules, _) = rules_with(counting(), free);

        assert!(
            rules.rules_of(free).await.unwrap().free && !rules.rules_of(other).await.unwrap().free
        );
    }

    #[tokio::test]
    async fn a_deleted_group_has_no_limits_and_is_not_cached() {
        let mut store = MockGroupStore::new();
        store.expect_settings().times(2).returning(|_| Ok(None));
        let (rules, _) = rules_with(store, GroupId::generate());
        let gone = GroupId::generate();

        for _ in 0..2 {
            assert_eq!(*rules.rules_of(gone).await.unwrap(), GroupRules::default());
        }
    }
}
