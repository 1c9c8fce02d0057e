//! Caches of groups and their members, and their invalidation.

use std::sync::Arc;

use pia_identity::CallerCache;
use pia_kernel::{GroupId, UserId};
use pia_policy::GroupWatch;

use super::PolicyGroupRules;

/// Caches of groups and memberships in this process.
pub(crate) struct GroupCaches {
    pub(crate) caller_cache: CallerCache,
    pub(crate) rules: Arc<PolicyGroupRules>,
}

impl GroupWatch for GroupCaches {
    fn group_changed(&self, group: GroupId) {
        self.rules.forget(group);
    }

    fn member_moved(&self, user: UserId) {
        self.caller_cache.forget_user(user);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pia_identity::{CallerState, MockAccountStore, SessionRef};
    use pia_kernel::{Clock, LiveSetting, SessionId, SystemClock};
    use pia_policy::{
        GroupSettings, MemberMoveOutcome, MockGroupStore, SettingChange, SettingsChangeOutcome,
    };

    use super::*;
    use crate::compose::GroupPolicy;

    #[tokio::test]
    async fn changes_by_this_process_invalidate_its_caches_at_once() {
        let mut accounts = MockAccountStore::new();
        accounts
            .expect_caller_state()
            .returning(|user, session, _| Ok(Some(CallerState::new(user, session))));
        let caller_cache = CallerCache::new(Arc::new(accounts), Arc::new(SystemClock));
        let mut store = MockGroupStore::new();
        store.expect_settings().times(2).returning(|_| Ok(Some(GroupSettings::default())));
        store.expect_change().returning(|_, _, _| Ok(SettingsChangeOutcome::Unknown));
        store.expect_put().returning(|_, _, _| Ok(MemberMoveOutcome::Done));
        let free = LiveSetting::new(GroupId::generate());
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let policy = GroupPolicy::with_store(
            Arc::new(store),
            &caller_cache,
            free,
            &clock,
            Duration::from_secs(5),
        );
        let user = UserId::generate();
        let group = GroupId::generate();
        let session_ref = SessionRef { user, session: SessionId::generate() };
        caller_cache.fresh(session_ref).await.unwrap();
        policy.rules.rules_of(group).await.unwrap();

        policy.groups.move_member(None, user, group).await.unwrap();
        policy.groups.change_settings(None, group, &[SettingChange::Pool(true)]).await.unwrap_err();
        policy.rules.rules_of(group).await.unwrap();

        assert!(caller_cache.cached(session_ref).is_none());
    }
}
