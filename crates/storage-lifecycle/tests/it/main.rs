//! Contract tests of tasks across all tables, on every backend.

#![expect(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod assignments;
mod audit_chain;
mod audit_log;
mod beside_writers;
mod chats;
mod erase;
mod inventory;
mod maintenance_log;
mod people;
mod unverified;
