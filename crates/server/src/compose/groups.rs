//! Groups, and their rules for AI calls.

use std::sync::Arc;
use std::time::Duration;

use pia_assistant::Rules;
use pia_identity::CallerCache;
use pia_kernel::{Clock, GroupId, LiveSetting};
use pia_policy::{GroupStore, Groups};
use pia_storage::Database;
use pia_storage_policy::SqlGroups;

use crate::bridges::{GroupCaches, PolicyGroupRules};

/// Groups, and their rules for AI calls.
pub(crate) struct GroupPolicy {
    pub(crate) groups: Groups,
    pub(crate) rules: Arc<dyn Rules>,
}

impl GroupPolicy {
    /// Composes the groups in `db`; `free` is the group of the free tier. A
    /// user who changes groups is removed from `caller_cache`.
    pub(crate) fn compose(
        db: &Database,
        caller_cache: &CallerCache,
        free: LiveSetting<GroupId>,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let store = Arc::new(SqlGroups::new(db.clone()));
        Self::with_store(store, caller_cache, free, clock, db.statement_timeout())
    }

    /// Builds the services with any store, of which a read may take as long as `limit`.
    pub(crate) fn with_store(
        store: Arc<dyn GroupStore>,
        caller_cache: &CallerCache,
        free: LiveSetting<GroupId>,
        clock: &Arc<dyn Clock>,
        limit: Duration,
    ) -> Self {
        let rules =
            Arc::new(PolicyGroupRules::new(Arc::clone(&store), free, Arc::clone(clock), limit));
        let copies = GroupCaches { caller_cache: caller_cache.clone(), rules: Arc::clone(&rules) };
        Self { groups: Groups::new(store, Arc::new(copies), Arc::clone(clock)), rules }
    }
}
