//! What this domain asks of the outside world.

mod catalogue;
mod holdings;
mod store;

pub use catalogue::{Catalogue, ManagedPersona, Plugin, Policy};
pub use holdings::{ChatHolding, Holding, SyncEvent, SyncHoldings};
pub use store::{
    Applied, Changes, Head, Page, PendingDevice, PendingDevices, Room, Row, SyncReader, SyncStore,
};

#[cfg(test)]
pub(crate) use store::{MockPendingDevices, MockSyncReader, MockSyncStore};
