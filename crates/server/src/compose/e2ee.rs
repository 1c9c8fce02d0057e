//! Devices and keys over their adapter.

use std::sync::Arc;

use pia_e2ee::{Devices, KeyStore, Recovery};
use pia_kernel::Clock;
use pia_sealing::Sealer;
use pia_storage::Database;
use pia_storage_e2ee::SqlKeys;

/// Devices and keys over their adapter.
pub(super) struct E2ee {
    pub(super) devices: Devices,
    pub(super) recovery: Recovery,
}

impl E2ee {
    pub(super) fn compose(db: &Database, sealer: &Sealer, clock: &Arc<dyn Clock>) -> Self {
        let keys: Arc<dyn KeyStore> = Arc::new(SqlKeys::new(db.clone(), sealer.clone()));
        Self {
            devices: Devices::new(Arc::clone(&keys), Arc::clone(clock)),
            recovery: Recovery::new(keys, Arc::clone(clock)),
        }
    }
}
