//! Connection with the hub: a WebSocket with messages of SignalR in JSON, without
//! stateful reconnect: a connection that is lost is opened anew, and its calls
//! end.
//!
//! Both directions have the same limit of silence, after which the server counts
//! as gone.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use pia_signalr::{HubMessage, HubProtocol, MessageDecoder, MessageLimits, WireFrame};
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_tls_with_config};

use crate::endpoint::Endpoint;
use crate::error::ConnectionError;

const HANDSHAKE_REQUEST: &str = "{\"protocol\":\"json\",\"version\":1}\u{1e}";

/// Time for the WebSocket and the handshake together.
const OPENING_TIMEOUT: Duration = Duration::from_secs(15);

/// Time for the server to close its side.
const CLOSING_TIMEOUT: Duration = Duration::from_secs(2);

/// Connection with the hub, after the handshake.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    decoder: MessageDecoder,
    /// Time after which a server that sends or reads nothing counts as gone.
    max_silence: Duration,
    last_received: Instant,
}

impl Connection {
    /// Opens a WebSocket and shakes hands. There is no negotiation, since there
    /// is nothing to negotiate.
    pub(crate) async fn open(
        endpoint: &Endpoint,
        max_silence: Duration,
    ) -> Result<Self, ConnectionError> {
        timeout(OPENING_TIMEOUT, async {
            let request = endpoint.request()?;
            let connector = Some(endpoint.connector());
            let (socket, _response) =
                connect_async_tls_with_config(request, None, true, connector).await?;
            let decoder = MessageDecoder::new(HubProtocol::Json, MessageLimits::default());
            let mut connection =
                Self { socket, decoder, max_silence, last_received: Instant::now() };
            connection.shake_hands().await?;
            Ok(connection)
        })
        .await
        .unwrap_or(Err(ConnectionError::Silent(OPENING_TIMEOUT)))
    }

    async fn shake_hands(&mut self) -> Result<(), ConnectionError> {
        #[derive(Deserialize)]
        struct Response {
            error: Option<String>,
        }

        self.socket.send(HANDSHAKE_REQUEST.into()).await?;
        let frame = self.receive_frame().await?;
        // Messages may follow the response.
        let (response, messages) = frame.split_once('\u{1e}').unwrap_or((frame.as_str(), ""));
        let refusal = match serde_json::from_str(response) {
            Ok(Response { error: None }) => {
                self.decoder.push(messages.as_bytes());
                return Ok(());
            }
            Ok(Response { error: Some(error) }) => error,
            Err(error) => error.to_string(),
        };
        Err(ConnectionError::Handshake(refusal))
    }

    /// Sends a message to the hub, and waits until it is written.
    pub(crate) async fn send(&mut self, message: &HubMessage) -> Result<(), ConnectionError> {
        let WireFrame::Text(text) = HubProtocol::Json.encode(message) else { return Ok(()) };
        let outcome = timeout(self.max_silence, self.socket.send(text.into())).await;
        Ok(outcome.map_err(|_elapsed| ConnectionError::Silent(self.max_silence))??)
    }

    /// Receives the next message. A call that is dropped loses nothing.
    pub(crate) async fn receive(&mut self) -> Result<HubMessage, ConnectionError> {
        loop {
            if let Some(message) = self.decoder.next_message()? {
                return Ok(message);
            }
            let frame = self.receive_frame().await?;
            self.decoder.push(frame.as_bytes());
        }
    }

    /// Receives the next text frame.
    async fn receive_frame(&mut self) -> Result<String, ConnectionError> {
        loop {
            let due = self.last_received + self.max_silence;
            let Ok(message) = timeout_at(due, self.socket.next()).await else {
                return Err(ConnectionError::Silent(self.max_silence));
            };

            self.last_received = Instant::now();

            match message.ok_or(Error::ConnectionClosed)?? {
                Message::Text(text) => return Ok(text.as_str().to_owned()),
                Message::Close(_) => return Err(Error::ConnectionClosed.into()),
                // The socket itself answers the pings of WebSockets.
                _ => {}
            }
        }
    }

    /// Closes the connection, behind all messages that were sent.
    pub(crate) async fn close(mut self) -> Result<(), ConnectionError> {
        self.send(&HubMessage::Close { error: None, allow_reconnect: false }).await?;
        self.socket.close(None).await?;
        // A socket with unread input would reset the connection.
        timeout(CLOSING_TIMEOUT, async { while let Some(Ok(_)) = self.socket.next().await {} })
            .await
            .ok();
        Ok(())
    }
}
