//! Composed servers for tests, with their counterparts: clients, browsers,
//! authenticators, devices, upstreams and relays.
//!
//! Most tests start with `TestApp::spawn` or a `TestConfig` (`harness.rs`), which
//! compose a server in the test's process, and send requests by a `Client`
//! (`client.rs`). `program.rs` runs the real binary instead, for its command line,
//! signals and log.

#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "for tests")]
#![expect(clippy::new_without_default, clippy::return_self_not_must_use, reason = "for tests")]

pub mod ai_client;
pub mod ai_peer;
pub mod authenticator;
mod both;
pub mod browser;
pub mod chats;
pub mod client;
pub mod console;
pub mod credentials;
pub mod emails;
pub mod forwarder;
pub mod harness;
pub mod licences;
pub mod machine;
pub mod mcp_peer;
pub mod polling;
pub mod program;
pub mod relay;
