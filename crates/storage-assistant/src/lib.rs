//! Storage ports of the assistant, over SQLite or PostgreSQL.

mod booking;
mod context;
mod credit_store;
mod group_budgets;
mod lease;
mod member_windows;
mod queue;
mod sequencer;
mod statements;
mod tally;
mod usage_row;
mod usage_sums;
mod window_row;

pub use credit_store::SqlCreditStore;
pub use tally::Counts;
pub use usage_sums::SqlUsageSums;
