//! Ports of pods.

pub(crate) mod connector_store;
pub(crate) mod pod_link;
pub(crate) mod pod_registry;
pub(crate) mod tool_server;
