//! Tests of synchronisation, stored chats and encrypted accounts.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod chats;
mod desktop;
mod e2ee;
mod sync;
