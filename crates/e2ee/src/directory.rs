//! Devices of all accounts, as administrators see them, without any key.
//! `DeviceStatus` splits the stored state `Pending` by the time when the
//! onboarding session ends.

use std::sync::Arc;

use pia_kernel::{
    Clock, Page, PageRequest, SortCursor, Timestamp, Unavailable, UserId, named_variants,
};

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

named_variants! {
    /// State of a device without its secrets, with its name in queries.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum DeviceStatus {
        /// Device asks for approval.
        Waiting = "waiting",
        /// Request for approval has expired.
        Expired = "expired",
        /// Device has its account's key.
        Active = "active",
        /// Device was revoked.
        Revoked = "revoked",
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
    /// Order of the devices.
    pub order: DeviceOrder,
}

named_variants! {
    /// Column that devices are sorted by, and then by their ids, with its name in
    /// queries.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum DeviceColumn {
        /// Time of the first registration.
        #[default]
        Created = "created",
        /// Name, in any case.
        Name = "name",
        /// Time of the last operation on keys.
        Used = "used",
    }
}

/// Order of devices; the newest registration first by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceOrder {
    /// Column that they are sorted by.
    pub column: DeviceColumn,
    /// True if the lowest value is the first.
    pub is_ascending: bool,
}

impl DeviceColumn {
    /// Returns whether the column is a text; the others are times.
    pub fn is_text(self) -> bool {
        self == Self::Name
    }
}

impl DeviceOrder {
    /// Returns the order with this name in queries: that of its column, after `-` in
    /// descending order; `None` if there is no such column.
    pub fn from_name(name: &str) -> Option<Self> {
        let column_name = name.strip_prefix('-').unwrap_or(name);
        let column = DeviceColumn::ALL.into_iter().find(|it| it.name() == column_name)?;
        Some(Self { column, is_ascending: column_name == name })
    }

    /// Returns the position of a device in a list of this order.
    pub fn cursor(self, device: &DeviceEntry) -> SortCursor {
        match self.column {
            DeviceColumn::Created => SortCursor::at_time(device.created_at, device.row.0),
            DeviceColumn::Name => SortCursor::at_text(&device.name, device.row.0),
            DeviceColumn::Used => SortCursor::at_time(device.seen_at, device.row.0),
        }
    }
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
        page: PageRequest<SortCursor>,
    ) -> Result<Page<DeviceEntry, SortCursor>, Unavailable> {
        let now = self.clock.now();
        let entries = self.reader.page(filter, now, page.clone().and_one_more()).await?;
        Ok(page.into_page(entries, |it| filter.order.cursor(it)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_named_by_its_column_and_direction() {
        for column in DeviceColumn::ALL {
            let ascending = DeviceOrder { column, is_ascending: true };
            let descending = DeviceOrder { column, is_ascending: false };

            assert_eq!(DeviceOrder::from_name(column.name()), Some(ascending));
            assert_eq!(DeviceOrder::from_name(&format!("-{}", column.name())), Some(descending));
        }
        for unknown in ["", "-", "--name", "email"] {
            assert_eq!(DeviceOrder::from_name(unknown), None, "{unknown}");
        }
        assert_eq!(DeviceOrder::from_name("-created"), Some(DeviceOrder::default()));
    }
}
