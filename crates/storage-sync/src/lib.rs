//! Synchronised items, in SQL.
//!
//! A push is `applying.rs`, one transaction over `statements.rs` and
//! `item_row.rs`. A pull is `reading.rs`, which runs `head_query.rs` and
//! `page_query.rs` and builds the page in `page_making.rs`. Bodies are sealed and
//! opened only by `sealed_bodies.rs`. Begin with `SqlSyncStore::write`.

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
