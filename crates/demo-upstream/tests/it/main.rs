//! The demo upstream over a real socket.

#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "tests")]

mod faults;
mod full_and_streamed;
mod harness;
mod prepared;
