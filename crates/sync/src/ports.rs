//! Ports of this domain.

mod catalogue;
mod item_info;
mod store;

pub use catalogue::{Catalogue, ManagedPersona, Plugin, Policy};
pub use item_info::{ChatInfo, ItemInfo, StoredCounts, SyncAdminStore, SyncEvent};
pub use store::{
    ApplyOutcome, Changes, Head, ItemPage, PageLimit, PendingDevice, PendingDevices, Row,
    SyncReader, SyncStore,
};

#[cfg(test)]
pub(crate) use store::{MockPendingDevices, MockSyncReader, MockSyncStore};
