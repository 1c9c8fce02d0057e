//! Check that the free tier's group exists.

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{GroupId, LiveSetting};
use pia_policy::GroupStore;
use tokio_util::sync::CancellationToken;

/// Interval of checking that the group exists.
const EVERY: Duration = Duration::from_secs(10);

/// Reports the operator where `FreeTier:GroupId` names no group: then nobody is
/// in it, and nobody is kept from anything by it.
pub(crate) struct FreeGroup {
    /// Configured group, at present.
    pub(crate) named: LiveSetting<Option<GroupId>>,
    pub(crate) groups: Arc<dyn GroupStore>,
}

/// Result of the last check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupLookup {
    /// Group exists, or none is configured.
    Fine,
    /// No such group.
    Missing(GroupId),
}

impl FreeGroup {
    /// Looks at the start, and now and then until stopped: groups are removed,
    /// and settings change.
    pub(crate) async fn watch(self, stop: CancellationToken) {
        let mut known = GroupLookup::Fine;
        let mut tick = tokio::time::interval(EVERY);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = tick.tick() => {}
            }
            known = self.look(known).await;
        }
    }

    /// Looks, and reports what was not known.
    async fn look(&self, known: GroupLookup) -> GroupLookup {
        let now = match *self.named.get() {
            None => GroupLookup::Fine,
            Some(group) => match self.groups.settings(group).await {
                Ok(Some(_)) => GroupLookup::Fine,
                Ok(None) => GroupLookup::Missing(group),
                // The next time reports.
                Err(_) => known,
            },
        };
        if let GroupLookup::Missing(group) = now
            && now != known
        {
            tracing::warn!(
                group.id = %group,
                "FreeTier:GroupId names no group, so nobody is in the free tier"
            );
        }
        now
    }
}

#[cfg(test)]
mod tests {
    use pia_kernel::Unavailable;
    use pia_policy::{GroupSettings, MockGroupStore};

    use super::*;

    #[tokio::test]
    async fn a_group_is_missed_where_one_is_named_that_is_not_there() {
        let (there, gone, away) = (GroupId::generate(), GroupId::generate(), GroupId::generate());
        let mut store = MockGroupStore::new();
        store.expect_settings().returning(move |it| match it {
            it if it == there => Ok(Some(GroupSettings::default())),
            it if it == away => Err(Unavailable::new("groups", "away")),
            _ => Ok(None),
        });
        let named = LiveSetting::new(None);
        let free = FreeGroup { named: named.clone(), groups: Arc::new(store) };

        let mut reported = Vec::new();
        let mut known = GroupLookup::Fine;
        for name in [None, Some(there), Some(gone), Some(away), Some(gone), Some(there)] {
            named.set(name);
            known = free.look(known).await;
            reported.push(known);
        }

        let missing = GroupLookup::Missing(gone);
        assert_eq!(
            reported,
            [GroupLookup::Fine, GroupLookup::Fine, missing, missing, missing, GroupLookup::Fine]
        );
    }
}
