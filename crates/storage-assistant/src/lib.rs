//! Storage ports of the assistant, over SQLite or PostgreSQL.
//!
//! `SqlCreditStore` never writes for one caller: calls go into `queue.rs`, and
//! `sequencer.rs` takes them out in batches, which `booking.rs` writes in one
//! transaction each. The decision itself, who gets how many credits, is made by
//! `CreditWindows` in `assistant`. `SqlUsageSums` only reads the sums that bookings
//! have added up. Begin with `SqlCreditStore::admit` in `credit_store.rs`.

mod booking;
mod context;
mod credit_store;
mod group_budgets;
mod lease;
mod member_windows;
mod queue;
mod requests;
mod sequencer;
mod statements;
mod tally;
mod usage_hours;
mod usage_row;
mod usage_sums;
mod window_row;

pub use credit_store::SqlCreditStore;
pub use tally::Counts;
pub use usage_sums::SqlUsageSums;
