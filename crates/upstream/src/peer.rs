//! Upstream on a plain socket that a test controls.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pia_assistant::{ChatBody, ChatCall, ProviderType, Target};
use pia_json::Rope;
use pia_kernel::LiveSetting;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::{Tls, Upstream, UpstreamLimits};

/// Head of an event stream that ends with its connection.
pub(crate) const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
/// Head of an event stream in chunks.
pub(crate) const CHUNKED: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";

/// Request object without its closing brace.
pub(crate) const OPEN: &str = "{\"messages\":[]";

pub(crate) fn new_upstream(limits: UpstreamLimits) -> Upstream {
    Upstream::new(LiveSetting::new(limits), &Tls::native().unwrap()).unwrap()
}

/// Returns limits with short timeouts.
pub(crate) fn brief() -> UpstreamLimits {
    let brief = Duration::from_millis(80);
    UpstreamLimits { first_byte: brief, silence: brief, answer: brief, ..UpstreamLimits::default() }
}

pub(crate) fn chat_call(endpoint: &str, body: &[&'static str]) -> ChatCall {
    let target = Target::new(ProviderType::OpenAi, endpoint, "m").with_key("sk-1");
    let key = target.keys[0].clone();
    let body = chat_body(body.iter().map(|it| Bytes::from_static(it.as_bytes())).collect());
    ChatCall { target: Arc::new(target), key, body, max_output: None, effort: None }
}

/// Returns the body of a request object without its closing brace.
pub(crate) fn chat_body(pieces: Vec<Bytes>) -> ChatBody {
    let members = Rope::from(pieces).members().unwrap_or_default();
    let parameters = members
        .iter()
        .filter(|(key, _)| !["messages", "tools"].contains(key))
        .map(|(key, value)| (&*key.to_owned().leak(), value.flat()))
        .collect();
    ChatBody {
        messages: members.get("messages").cloned().unwrap_or_default(),
        tools: members.get("tools").cloned(),
        parameters,
    }
}

pub(crate) struct Peer {
    listener: TcpListener,
    pub(crate) endpoint: String,
}

impl Peer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}/v1", listener.local_addr().unwrap());
        Self { listener, endpoint }
    }

    /// Accepts a connection and reads one request.
    pub(crate) async fn request(&self) -> TcpStream {
        let (mut socket, _) = self.listener.accept().await.unwrap();
        read_request(&mut socket).await;
        socket
    }

    /// Accepts a connection, reads one request, writes this response, and
    /// closes.
    pub(crate) async fn answer(&self, answer: &str) {
        let mut socket = self.request().await;
        socket.write_all(answer.as_bytes()).await.unwrap();
        socket.shutdown().await.unwrap();
        // Closing with unread bytes would reset the connection.
        drop(socket.read_to_end(&mut Vec::new()).await);
    }
}

/// Reads one request, whose body ends with the first `}` that ends a piece.
pub(crate) async fn read_request(socket: &mut TcpStream) {
    let mut request = Vec::new();
    while !request.ends_with(b"}") {
        let count = socket.read_buf(&mut request).await.unwrap();
        assert!(count > 0, "the client hung up: {}", String::from_utf8_lossy(&request));
    }
}
