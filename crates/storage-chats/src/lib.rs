//! Store of chats in SQL: `chats.rs` implements the port, `writing.rs` its changes,
//! `listing.rs` its pages, and `rows.rs` seals and opens documents.

mod chats;

mod listing;
mod rows;
mod writing;

pub use chats::SqlChats;
