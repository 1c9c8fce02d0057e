//! What devices keep in step, in SQL.

mod item_row;
mod sealed_bodies;

mod applying;
mod event_row;
mod statements;

mod catalogue;
mod head_query;
mod page_making;
mod page_query;
mod reading;

mod holdings;
mod silences;

pub use applying::SqlSyncStore;
pub use holdings::SqlSyncHoldings;
pub use reading::SqlSyncReader;
pub use silences::SqlSilences;
