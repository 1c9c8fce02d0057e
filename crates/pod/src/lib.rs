//! Pods: programs of an operator that bring tools to a server.
//!
//! A [`Pod`] dials in to the server's hub, names its [`Tool`]s and [`PodSkill`]s and
//! serves their calls, until it is stopped. It needs no port of its own, and connects
//! again by itself when the connection is lost.
//!
//! ```no_run
//! use async_trait::async_trait;
//! use pia_kernel::Secret;
//! use pia_pod::{CallContext, Pod, Tool, ToolDescription};
//! use serde_json::{Value, json};
//! use tokio_util::sync::CancellationToken;
//!
//! struct Shout;
//!
//! #[async_trait]
//! impl Tool for Shout {
//!     fn description(&self) -> ToolDescription {
//!         let parameters = json!({
//!             "type": "object",
//!             "properties": { "text": { "type": "string" } },
//!             "required": ["text"],
//!         });
//!         ToolDescription::new("shout", "Returns a text in capitals.", parameters)
//!     }
//!
//!     async fn call(&self, arguments: Value, _: CallContext) -> Result<Value, String> {
//!         let text = arguments["text"].as_str().ok_or("text is missing")?;
//!         Ok(text.to_uppercase().into())
//!     }
//! }
//!
//! # async fn run(token: String) -> Result<(), pia_pod::PodError> {
//! let pod = Pod::new("https://pia.example", &Secret::new(token))?.with_name("shouter");
//! pod.with_tool(Shout).run(CancellationToken::new()).await
//! # }
//! ```
//!
//! `docs/PODS.md` describes the messages, for pods in other languages.

mod backoff;
mod call_context;
mod calls;
mod connection;
mod endpoint;
mod error;
mod messages;
mod pod;
mod renewal;
mod session;
mod skill;
mod tool;
mod work;

pub use call_context::CallContext;
pub use error::PodError;
pub use pod::Pod;
pub use renewal::TokenStore;
pub use skill::PodSkill;
pub use tool::{Tool, ToolDescription};
