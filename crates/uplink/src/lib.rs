//! Uplink hub: the only endpoint for pods, over SignalR and WebSockets.
//!
//! A WebSocket belongs to a task, `transport`; its connection, which may outlive
//! it, to another one, `connection_task`. That one passes what the pod says to
//! its `pod_session`, which answers, and calls the pod's tools for others.

mod connection_task;
mod endpoint;
mod input;
mod links;
mod messages;
mod pod_session;
mod routes;
mod transport;
mod uplink;

pub use links::LocalLinks;
pub use routes::routes;
pub use uplink::{Connections, Uplink};
