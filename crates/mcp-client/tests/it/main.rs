//! Tests of the client before servers that are honest, and others.

#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a test")]

mod calls;
mod http;
mod script;
mod server;
mod stdio;
mod violations;
