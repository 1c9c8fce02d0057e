//! SignalR, as ASP.NET Core speaks it: the server's side, without input and
//! output.
//!
//! Specifications: `HubProtocol.md` and `TransportProtocols.md` in
//! `src/SignalR/docs/specs` of `dotnet/aspnetcore`.

mod connection;
mod error;
mod handshake;
mod message;
mod negotiate;
mod protocol;

pub use error::ProtocolError;
pub use message::{HubMessage, InvocationResult};
pub use negotiate::{NegotiateQuery, NegotiateResponse};
pub use protocol::{HubProtocol, MessageDecoder, MessageLimits, WireFrame};
