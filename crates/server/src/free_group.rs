//! Check that the free tier's group exists.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{GroupId, LiveSetting};
use pia_policy::GroupStore;
use tokio_util::sync::CancellationToken;

/// Interval of checking that the group exists.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// Check that warns if `FreeTier:GroupId` names no group: then the free tier
/// has no members, and its limits apply to no caller.
pub(crate) struct FreeGroup {
    /// Group that the settings name, if any.
    pub(crate) configured: LiveSetting<Option<GroupId>>,
    pub(crate) groups: Arc<dyn GroupStore>,
}

/// Result of the last check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupLookup {
    /// Group exists, or none is configured.
    Fine,
    /// The settings name this group, which does not exist.
    Missing(GroupId),
}

impl FreeGroup {
    /// Checks at the start and periodically until stopped: groups are deleted,
    /// and settings change.
    pub(crate) async fn watch(self, stop: CancellationToken) {
        let mut last = GroupLookup::Fine;
        let mut tick = tokio::time::interval(CHECK_INTERVAL);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = tick.tick() => {}
            }
            last = self.check(last).await;
        }
    }

    /// Checks the group, and logs if the group has gone missing since the last check.
    async fn check(&self, last: GroupLookup) -> GroupLookup {
        let lookup = match *self.configured.get() {
            None => GroupLookup::Fine,
            Some(group) => match self.groups.settings(group).await {
                Ok(Some(_)) => GroupLookup::Fine,
                Ok(None) => GroupLookup::Missing(group),
                // Left to the next check.
                Err(_) => last,
            },
        };

        if let GroupLookup::Missing(group) = lookup
            && lookup != last
        {
            tracing::warn!(
                group.id = %group,
                "FreeTier:GroupId names no group, so nobody is in the free tier"
            );
        }

        lookup
    }
}

#[cfg(test)]
mod tests {
    use pia_kernel::Unavailable;
    use pia_policy::{GroupSettings, MockGroupStore};

    use super::*;

    #[tokio::test]
    async fn a_configured_group_that_does_not_exist_is_missing() {
        let existing = GroupId::generate();
        let deleted = GroupId::generate();
        let unreadable = GroupId::generate();
        let mut store = MockGroupStore::new();
        store.expect_settings().returning(move |it| match it {
            it if it == existing => Ok(Some(GroupSettings::default())),
            it if it == unreadable => Err(Unavailable::new("groups", "away")),
            _ => Ok(None),
        });
        let configured = LiveSetting::new(None);
        let free_group = FreeGroup { configured: configured.clone(), groups: Arc::new(store) };

        let mut results = Vec::new();
        let mut last = GroupLookup::Fine;
        for group in
            [None, Some(existing), Some(deleted), Some(unreadable), Some(deleted), Some(existing)]
        {
            configured.set(group);
            last = free_group.check(last).await;
            results.push(last);
        }

        let missing = GroupLookup::Missing(deleted);
        assert_eq!(
            results,
            [GroupLookup::Fine, GroupLookup::Fine, missing, missing, missing, GroupLookup::Fine]
        );
    }
}
