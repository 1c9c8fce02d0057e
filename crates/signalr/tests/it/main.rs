//! Tests with the published clients, unmodified, before a small server.

#![expect(clippy::expect_used, reason = "a test")]

mod clients;
mod connection_task;
mod echo_hub;
mod server;
mod transport;
