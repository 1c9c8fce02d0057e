//! What this domain asks of the outside world.

mod catalogue;
mod item_info;
mod store;

pub use catalogue::{Catalogue, ManagedPersona, Plugin, Policy};
pub use item_info::{ChatHolding, ItemInfo, SyncEvent, SyncHoldings};
pub use store::{
    Applied, Changes, Head, ItemPage, PendingDevice, PendingDevices, PageLimit, Row, SyncReader, SyncStore,
};

#[cfg(test)]
pub(crate) use store::{MockPendingDevices, MockSyncReader, MockSyncStore};
