//! Synchronisation, stored chats and encrypted accounts, as devices see them.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod chats;
mod desktop;
mod e2ee;
mod sync;
