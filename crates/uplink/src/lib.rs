//! Uplink hub: the only endpoint for pods, over SignalR and WebSockets.
//!
//! A WebSocket belongs to a task, `transport`; its connection, which may outlive
//! it, to another one, `connection_task`. That one passes what the pod says to
//! its `pod_session`, which answers. `open_calls` calls the pod's tools for others.
//!
//! `tool_servers` connects to the MCP servers of connectors, each of which is linked
//! and registered like a pod.

mod connection_task;
mod endpoint;
mod frame_limit;
mod input;
mod links;
mod messages;
mod open_calls;
mod pod_session;
mod routes;
mod tool_server_session;
mod tool_servers;
mod transport;
mod uplink;

pub use links::LocalLinks;
pub use pod_session::ALIVE;
pub use routes::routes;
pub use tool_servers::ToolServerHost;
pub use uplink::{Connections, Uplink};
