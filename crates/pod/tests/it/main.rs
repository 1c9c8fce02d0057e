//! Tests of pods before a small hub.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a test")]

mod calls;
mod connecting;
mod hub;
mod hub_connection;
mod mcp;
mod program;
mod renewal;
mod running_pod;
mod skills;
mod tools;
mod typescript;
