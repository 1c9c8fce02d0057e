//! Pod whose frames are written by hand.

use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::{HeaderValue, Request};
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{Bytes, Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::server::{TIMEOUT, token};

/// Pod whose frames are written by hand, in JSON.
pub(crate) struct RawPod {
    pub(crate) socket: WebSocketStream<TcpStream>,
}

/// Returns the request for a WebSocket.
pub(crate) fn upgrade(address: SocketAddr, number: u32, id: Option<&str>) -> Request<()> {
    let query = id.map(|it| format!("?id={it}")).unwrap_or_default();
    let url = format!("ws://{address}/hubs/pod-uplink{query}");
    let mut request = url.into_client_request().unwrap();
    let token = HeaderValue::try_from(format!("Bearer {}", token(number))).unwrap();
    request.headers_mut().insert("authorization", token);
    request
}

/// Returns a record of JSON with its separator.
pub(crate) fn record(message: &Value) -> String {
    format!("{message}\u{1e}")
}

/// Returns the completion of a call.
pub(crate) fn completion(invocation: &str, result: &Value) -> Value {
    json!({ "type": 3, "invocationId": invocation, "result": result })
}

/// Returns the description of a pod with one tool.
pub(crate) fn description(tool: &str, seconds: u32) -> Value {
    json!({
        "protocol": 1, "name": "raw", "maxConcurrentCalls": 10_000,
        "tools": [{
            "name": tool, "description": "Answers.", "timeoutSeconds": seconds,
            "parameters": { "type": "object" },
        }],
    })
}

impl RawPod {
    /// Opens a WebSocket with the token of this number, without a handshake of
    /// SignalR.
    pub(crate) async fn open(address: SocketAddr, number: u32) -> Self {
        Self::open_with_id(address, number, None).await
    }

    pub(crate) async fn open_with_id(address: SocketAddr, number: u32, id: Option<&str>) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (socket, _) = client_async(upgrade(address, number, id), stream).await.unwrap();
        Self { socket }
    }

    /// Connects with one tool and this time limit.
    pub(crate) async fn connect(
        address: SocketAddr,
        number: u32,
        tool: &str,
        seconds: u32,
    ) -> Self {
        let mut pod = Self::open(address, number).await;
        pod.shake_hands("json", 1).await;
        let answer = pod.hello("hello", description(tool, seconds)).await;
        assert!(answer["result"]["podId"].is_string(), "{answer}");
        pod
    }

    pub(crate) async fn shake_hands(&mut self, protocol: &str, version: u32) {
        self.send(&json!({ "protocol": protocol, "version": version })).await;
        assert_eq!(self.next().await, Some(json!({})));
    }

    /// Says hello, and returns the completion.
    pub(crate) async fn hello(&mut self, id: &str, description: Value) -> Value {
        self.invoke(id, "Hello", vec![description]).await;
        self.completion_of(id).await
    }

    pub(crate) async fn invoke(&mut self, id: &str, target: &str, arguments: Vec<Value>) {
        let message =
            json!({ "type": 1, "invocationId": id, "target": target, "arguments": arguments });
        self.send(&message).await;
    }

    /// Returns the completion of an invocation, after other messages.
    pub(crate) async fn completion_of(&mut self, id: &str) -> Value {
        loop {
            let message = self.next().await.expect("a completion");
            if message["type"] == 3 && message["invocationId"] == id {
                return message;
            }
        }
    }

    /// Waits for a call, and returns the id of its invocation and its request.
    pub(crate) async fn called(&mut self) -> (String, Value) {
        loop {
            let mut message = self.next().await.expect("a call");
            if message["target"] == "Call" {
                let id = message["invocationId"].as_str().unwrap().to_owned();
                return (id, message["arguments"][0].take());
            }
        }
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.send_text(record(message)).await.unwrap();
    }

    pub(crate) async fn send_text(&mut self, text: String) -> Result<(), Error> {
        self.socket.send(Message::text(text)).await
    }

    /// Sends a frame as it is.
    pub(crate) async fn send_frame(
        &mut self,
        kind: Data,
        content: impl Into<Bytes>,
        is_final: bool,
    ) -> Result<(), Error> {
        let frame = Frame::message(content, OpCode::Data(kind), is_final);
        self.socket.send(Message::Frame(frame)).await
    }

    /// Returns the next message that is no ping; `None` once the connection has
    /// ended.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            let next = timeout(TIMEOUT, self.socket.next()).await.expect("a frame in time");
            let frame = match next?.ok()? {
                Message::Text(text) => Bytes::from(text),
                Message::Binary(bytes) => bytes,
                Message::Close(_) => return None,
                _ => continue,
            };
            let body = frame.strip_suffix(b"\x1e").expect("one record in a frame");
            let message: Value = serde_json::from_slice(body).unwrap();
            if message["type"] != 6 {
                return Some(message);
            }
        }
    }

    /// Reads until the connection has ended. Returns the message that closed it, if
    /// there was one.
    pub(crate) async fn closed(&mut self) -> Option<Value> {
        let mut last = None;
        while let Some(message) = self.next().await {
            last = Some(message);
        }
        last.filter(|it| it["type"] == 7)
    }
}
