//! Encrypted accounts over their adapter.

use std::sync::Arc;

use pia_e2ee::{DeviceDirectory, Devices, E2ee, KeyStore, Recovery};
use pia_storage_e2ee::{SqlDeviceReader, SqlKeys};

use super::infrastructure::Infrastructure;

pub(super) fn compose(base: &Infrastructure<'_>) -> E2ee {
    let keys: Arc<dyn KeyStore> = Arc::new(SqlKeys::new(base.db.clone(), base.sealer.clone()));
    let reader = Arc::new(SqlDeviceReader::new(base.db.clone()));
    E2ee {
        directory: DeviceDirectory::new(reader, base.clock()),
        devices: Devices::new(Arc::clone(&keys), base.clock()),
        recovery: Recovery::new(keys, base.clock()),
    }
}
