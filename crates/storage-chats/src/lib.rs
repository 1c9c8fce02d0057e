//! Store of chats in SQL.

mod chats;

mod listing;
mod rows;
mod writing;

pub use chats::SqlChats;
