//! Contract tests of the engine and its worker on a Temporal server, whose
//! address `TEST_TEMPORAL` names, over every database.

#![expect(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod crash;
mod engine;
mod history;
mod outage;
mod scene;
mod script;
mod stops;
mod tls;
mod worker;
