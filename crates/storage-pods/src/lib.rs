//! Pods in SQL: connectors with their tokens, and the registry of
//! connected pods.

mod connectors;
mod registry;

pub use connectors::SqlConnectors;
pub use registry::SqlPodRegistry;
