//! The assistant's storage ports, over SQLite or PostgreSQL.

mod bank;
mod booking;
mod lease;
mod queue;
mod sequencer;
mod statements;
mod tally;
mod usage_row;
mod window_row;

pub use bank::SqlBank;
pub use tally::Counts;
