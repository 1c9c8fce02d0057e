//! Model Context Protocol over streamable HTTP: the caller's knowledge bases
//! for any MCP client.
//!
//! The protocol is rmcp's, from the check of the headers to the serialised
//! response: each request is converted to the types of its
//! `StreamableHttpService`, which runs without sessions and serves it from
//! memory. Nothing is remembered between requests, so any instance behind a
//! balancer may serve any of them. An in-memory transport for each request was
//! the alternative; it would have left the rules of HTTP (content negotiation,
//! protocol versions, origins, statuses) to this crate.
//!
//! Path of a request: `routes.rs`, `endpoint.rs` (read it first), `bridge.rs` to
//! rmcp, `knowledge_server.rs`, and one of the tools in `search.rs` and `fetch.rs`.

mod mcp;
mod routes;

mod bridge;
mod endpoint;
mod message;
mod origin;

mod fetch;
mod knowledge_server;
mod refusals;
mod search;
mod tools;

pub use mcp::Mcp;
pub use routes::routes;
