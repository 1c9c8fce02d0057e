//! Tests of `/mcp` behind the gates, over mocks of the ports.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests")]

mod access;
mod fixture;
mod gates;
mod protocol;
mod tools;
