//! Client of MCP servers: it lists their tools and calls them.
//!
//! An [`McpClient`] is connected with one server, over the standard streams of
//! a child process (feature `stdio`) or over streamable HTTP (feature `http`).
//! A server is not trusted: its messages, its lists and its time are limited,
//! and its requests are refused, such as those for completions of a model.
//!
//! Read `client.rs` first. A connection is made by `McpClient::spawn` or `over`
//! (`stdio.rs`), or `connect` (`http_client.rs`). Its transport is wrapped by
//! `guard.rs`; requests that pass are answered by `refusals.rs`.

mod client;
mod error;
mod guard;
#[cfg(feature = "http")]
mod http_client;
mod refusals;
mod result;
#[cfg(feature = "stdio")]
mod stdio;
mod tool;

pub use client::McpClient;
pub use error::McpError;
pub use result::McpResult;
pub use tool::McpTool;
