//! Devices of all accounts, as administrators see them, without any key.
//! `DeviceStatus` splits the stored state `Pending` by the time at which the
//! onboarding session ends.

use std::sync::Arc;

use pia_kernel::{Clock, Cursor, Page, PageRequest, TimeOrder, Timestamp, Unavailable, UserId};

use crate::device::DeviceRow;
use crate::ports::DeviceReader;

/// Device of an account, without its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceEntry {
    /// Server-side id.
    pub row: DeviceRow,
    /// Account to which it belongs.
    pub user: UserId,
    /// Email address of the account.
    pub email: String,
    /// Name for the owner.
    pub name: String,
    /// State of the device.
    pub status: DeviceStatus,
    /// Operating system, if the device named it.
    pub os_version: Option<String>,
    /// Version of the app, if the device named it.
    pub app_version: Option<String>,
    /// Time of its first registration.
    pub created_at: Timestamp,
    /// Time of its last registration, activation, approval of another device, or own key.
    pub seen_at: Timestamp,
}

/// State of a device without its secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceStatus {
    /// Device asks for approval.
    Waiting,
    /// Request for approval has expired.
    Expired,
    /// Device has its account's key.
    Active,
    /// Device was revoked.
    Revoked,
}

impl DeviceStatus {
    /// Every status of a device.
    pub const ALL: [Self; 4] = [Self::Waiting, Self::Expired, Self::Active, Self::Revoked];

    /// Returns the name of the state in queries.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Expired => "expired",
            Self::Active => "active",
            Self::Revoked => "revoked",
        }
    }
}

/// Filter for devices; an empty field matches all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceFilter {
    /// Account of the device.
    pub user: Option<UserId>,
    /// Part of the device's name or of its account's email address, in any case.
    pub search: String,
    /// State of the device.
    pub status: Option<DeviceStatus>,
    /// Order of the devices by their registration.
    pub order: TimeOrder,
}

/// Devices of all accounts. Nobody but a device's owner can remove it: only the
/// owner knows whether another one still opens the encrypted data.
#[derive(Clone)]
pub struct DeviceDirectory {
    reader: Arc<dyn DeviceReader>,
    clock: Arc<dyn Clock>,
}

impl DeviceDirectory {
    /// Creates the directory over a reader.
    pub fn new(reader: Arc<dyn DeviceReader>, clock: Arc<dyn Clock>) -> Self {
        Self { reader, clock }
    }

    /// Lists the selected devices, in their order.
    pub async fn list(
        &self,
        filter: &DeviceFilter,
        page: PageRequest,
    ) -> Result<Page<DeviceEntry>, Unavailable> {
        let entries = self.reader.page(filter, self.clock.now(), page.and_one_more()).await?;
        Ok(page.into_page(entries, |it| Cursor { at: it.created_at, id: it.row.0 }))
    }
}
