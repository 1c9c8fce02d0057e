//! Pods in SQL: connectors with their tokens, the registry of connected pods, and
//! calls between instances.
//!
//! `relay.rs` describes the protocol of such calls, whose rows are in
//! `relayed_calls.rs`; with SQLite, which serves one instance, there are none.

mod call_records;
mod connector_rows;
mod connectors;
mod registry;
mod relay;
mod relay_statements;
mod relayed_calls;
mod token_row;

pub use connectors::SqlConnectors;
pub use registry::SqlPodRegistry;
pub use relay::PodRelay;
