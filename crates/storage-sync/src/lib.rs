//! Synchronised items, in SQL.

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

mod item_info;
mod stamp_gaps;

pub use applying::SqlSyncStore;
pub use item_info::SqlSyncAdminStore;
pub use reading::SqlSyncReader;
pub use stamp_gaps::SqlStampGaps;
