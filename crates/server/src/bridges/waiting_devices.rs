//! Devices that wait for approval, as synchronisation reports them.

use async_trait::async_trait;
use pia_e2ee::Devices;
use pia_kernel::{Unavailable, UserId};
use pia_sync::{PendingDevice, PendingDevices};

/// Devices that wait for approval.
pub(crate) struct WaitingDevices(pub(crate) Devices);

#[async_trait]
impl PendingDevices for WaitingDevices {
    async fn waiting_devices(&self, user: UserId) -> Result<Vec<PendingDevice>, Unavailable> {
        let waiting_devices = self.0.waiting(user).await?.into_iter();
        let pending_devices = waiting_devices.map(|it| PendingDevice {
            id: it.row.0,
            name: it.name,
            created_at: it.created_at,
        });
        Ok(pending_devices.collect())
    }
}
