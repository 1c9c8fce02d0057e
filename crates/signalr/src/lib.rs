//! SignalR, as ASP.NET Core speaks it: the server's side, without input and
//! output.
//!
//! A hub is a two-way RPC endpoint. A client asks for a connection
//! ([`NegotiateResponse`]), opens a WebSocket, agrees on an encoding
//! (handshake), and from then on either side calls methods of the other, with
//! results, streams and uploads. [`HubConnection`] is one such connection: its
//! owner moves frames between it and the WebSocket, and answers its
//! [`HubEvent`]s. `tests/it` has such an owner, over actix-ws.
//!
//! ```
//! use std::time::Instant;
//!
//! use pia_signalr::{ConnectionSettings, ExpectedReply, HubConnection, HubEvent, WireFrame};
//!
//! let now = Instant::now();
//! let mut connection = HubConnection::new(ConnectionSettings::default(), now);
//! let frames = [
//!     "{\"protocol\":\"json\",\"version\":1}\u{1e}",
//!     "{\"type\":1,\"invocationId\":\"1\",\"target\":\"Echo\",\"arguments\":[42]}\u{1e}",
//! ];
//!
//! for frame in frames {
//!     for event in connection.receive(now, frame.as_bytes()) {
//!         let HubEvent::Invoked(mut call) = event else { continue };
//!         if let ExpectedReply::Completion(id) = &call.reply {
//!             connection.complete(id, Ok(call.arguments.pop()))?;
//!         }
//!     }
//! }
//!
//! let responses: Vec<WireFrame> = std::iter::from_fn(|| connection.poll_transmit(now)).collect();
//! let completion = "{\"type\":3,\"invocationId\":\"1\",\"result\":42}\u{1e}";
//! assert_eq!(responses, ["{}\u{1e}", completion].map(|it| WireFrame::Text(it.to_owned())));
//! # Ok::<(), pia_signalr::SendError>(())
//! ```
//!
//! With *stateful reconnect* the connection outlives its WebSocket: after
//! [`HubConnection::detach`] it keeps what was not acknowledged, and
//! [`HubConnection::resume`] repeats it on the next WebSocket that presents the
//! connection's token.
//!
//! Specifications: `HubProtocol.md` and `TransportProtocols.md` in
//! `src/SignalR/docs/specs` of `dotnet/aspnetcore`.

mod connection;
mod error;
mod handshake;
mod message;
mod negotiate;
mod protocol;

pub use connection::{
    ClientInvocation, CloseReason, ConnectionSettings, ExpectedReply, HubConnection, HubEvent,
    Reconnect, SendError,
};
pub use error::ProtocolError;
pub use message::{HubMessage, InvocationResult};
pub use negotiate::{NegotiateQuery, NegotiateResponse};
pub use protocol::{HubProtocol, MessageDecoder, MessageLimits, WireFrame};
