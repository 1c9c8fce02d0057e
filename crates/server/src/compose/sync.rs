//! Synchronisation's use cases over their adapters.

use std::sync::Arc;
use std::time::Duration;

use pia_http::SyncApi;
use pia_kernel::{Clock, LiveSetting};
use pia_sealing::Sealer;
use pia_storage::Database;
use pia_storage_sync::{SqlSyncAdminStore, SqlSyncReader, SqlSyncStore};
use pia_sync::{PendingDevices, PullService, PushService, StampGaps, Support, SyncReader};

use pia_settings::LiveConfig;

/// Synchronisation's use cases over their adapters.
pub(super) struct Syncing {
    pub(super) api: SyncApi,
    pub(super) events_kept: LiveSetting<Duration>,
}

impl Syncing {
    pub(super) fn compose(
        config: &LiveConfig,
        (db, sealer): (&Database, &Sealer),
        (pending, silences): (Arc<dyn PendingDevices>, StampGaps),
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let settings = config.follow(|it| it.sync.pushing.clone());
        let store = Arc::new(SqlSyncStore::new(db.clone(), sealer.clone()));
        let reader: Arc<dyn SyncReader> = Arc::new(SqlSyncReader::new(db.clone(), sealer.clone()));
        let holdings = Arc::new(SqlSyncAdminStore::new(db.clone()));
        let (live, looked) = (settings.clone(), Arc::clone(&reader));
        Self {
            api: SyncApi {
                pushing: PushService::new(store, live, Arc::clone(clock)),
                pulling: PullService::new(reader, pending, silences),
                support: Support::new(holdings, looked, settings, Arc::clone(clock)),
                fast_path: config.follow(|it| it.sync.fast_path),
            },
            events_kept: config.follow(|it| it.sync.events_kept),
        }
    }
}
