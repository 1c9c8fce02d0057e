//! Tests of the hub behind its gates, with pods that are written by hand, over
//! fakes of the ports.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests"
)]

mod child;
mod cut;
mod draining;
mod echo_pod;
mod endless;
mod floods;
mod frames;
mod frozen;
mod gates;
mod hello;
mod http;
mod idle;
mod measured;
mod negotiation;
mod pieces;
mod progress;
mod raw_pod;
mod registry;
mod relay;
mod results;
mod server;

use measured::{alone, assert_latency, measured};
