//! The demo upstream over a real socket.

#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "tests")]

mod faults;
mod harness;
mod prepared;
mod whole_and_streamed;
