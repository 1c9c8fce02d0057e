//! Stored chats, in SQL.
