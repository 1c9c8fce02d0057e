//! Tests of the delivery to a real relay.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod messages;
mod relays;
mod scene;
mod tls;
