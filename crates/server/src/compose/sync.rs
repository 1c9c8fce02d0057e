//! Synchronisation over its adapters.

use std::sync::Arc;

use pia_e2ee::Devices;
use pia_http::SyncApi;
use pia_storage_sync::{SqlSyncAdminStore, SqlSyncReader, SqlSyncStore};
use pia_sync::{PullService, PushService, Support, SyncReader};

use super::infrastructure::Infrastructure;
use crate::bridges::WaitingDevices;

/// Synchronisation whose pulls name the `devices` that wait for approval.
pub(super) fn compose(base: &Infrastructure<'_>, devices: Devices) -> SyncApi {
    let Infrastructure { config, db, sealer, stamp_gaps, .. } = base;
    let settings = config.follow(|it| it.sync.pushing.clone());
    let store = Arc::new(SqlSyncStore::new(db.clone(), sealer.clone()));
    let reader: Arc<dyn SyncReader> = Arc::new(SqlSyncReader::new(db.clone(), sealer.clone()));
    let items = Arc::new(SqlSyncAdminStore::new(db.clone()));
    let waiting = Arc::new(WaitingDevices(devices));
    SyncApi {
        pushing: PushService::new(store, settings.clone(), base.clock()),
        pulling: PullService::new(Arc::clone(&reader), waiting, stamp_gaps.clone()),
        support: Support::new(items, reader, settings, base.clock()),
        fast_path: config.follow(|it| it.sync.fast_path),
    }
}
