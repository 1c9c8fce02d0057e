//! An upstream on a plain socket, whose responses the test writes byte for byte.
//!
//! `Peer` hands each call to the test, which writes and closes as it likes; `Fixed`
//! sends one response to every call. For well-behaved responses use the crate
//! `demo-upstream`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Head of an event stream that ends with its connection.
pub const EVENTS: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// Minimal non-streaming response with a message.
pub const WHOLE: &str =
    r#"{"choices":[{"message":{"role":"assistant","content":"Fine."},"finish_reason":"stop"}]}"#;

/// Timeout, longer than a call takes to arrive.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Call whose request was read.
pub struct Call {
    socket: TcpStream,
}

/// Call whose request was not read yet.
pub struct Unread(TcpStream);

/// Request that the peer has received.
#[derive(Debug, Clone)]
pub struct Request {
    /// Request line and headers.
    pub head: String,
    /// Body, read to its end.
    pub body: Vec<u8>,
}

impl Request {
    /// Returns the body, which must be UTF-8.
    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("a text")
    }

    /// Returns the names of the headers, sorted, in lower case.
    pub fn headers(&self) -> Vec<String> {
        let mut names: Vec<_> = self
            .head
            .lines()
            .skip(1)
            .filter_map(|it| it.split_once(':'))
            .map(|(name, _)| name.to_ascii_lowercase())
            .collect();
        names.sort_unstable();
        names
    }
}

/// Upstream that accepts one call after the other; the test writes the responses.
pub struct Peer {
    /// Listener whose connections the test accepts.
    pub listener: TcpListener,
    /// URL of the peer, to be configured as an endpoint.
    pub endpoint: String,
}

impl Peer {
    /// Listens on a free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let endpoint = format!("http://{}/v1", listener.local_addr().expect("an address"));
        Self { listener, endpoint }
    }

    /// Waits for the next call and reads it.
    pub async fn call(&self) -> Call {
        self.accept().await.read().await
    }

    /// Accepts the connection of the next call without reading from it.
    pub async fn accept(&self) -> Unread {
        let accepted = tokio::time::timeout(TIMEOUT, self.listener.accept()).await;
        let (socket, _) = accepted.expect("a call in time").expect("a connection");
        socket.set_nodelay(true).expect("an option");
        Unread(socket)
    }
}

impl Unread {
    /// Reads the request with its body.
    pub async fn read(self) -> Call {
        let mut socket = self.0;
        read(&mut socket).await.expect("a request");
        Call { socket }
    }
}

impl Call {
    /// Sends bytes and leaves the connection open.
    pub async fn write(&mut self, text: impl AsRef<[u8]>) {
        self.socket.write_all(text.as_ref()).await.expect("a reader");
    }

    /// Sends a text repeatedly until `max` bytes are sent or the client has read
    /// nothing for half a second. Returns the number of bytes sent.
    pub async fn flood(&mut self, text: &[u8], max: usize) -> usize {
        let mut sent_bytes = 0;
        while sent_bytes < max {
            let write = self.socket.write(&text[sent_bytes % text.len()..]);
            match tokio::time::timeout(Duration::from_millis(500), write).await {
                Ok(written) => sent_bytes += written.expect("a reader"),
                Err(_elapsed) => break,
            }
        }
        sent_bytes
    }

    /// Waits until the client has closed the connection.
    pub async fn closed(mut self) {
        drop(self.socket.read_to_end(&mut Vec::new()).await);
    }
}

/// Upstream that sends one response to every call, and records the requests.
pub struct Fixed {
    /// URL of the peer, to be configured as an endpoint.
    pub endpoint: String,
    calls: Arc<Mutex<Vec<Request>>>,
    _serving: JoinSet<()>,
}

impl Fixed {
    /// Starts an upstream that sends these bytes and closes the connection.
    pub async fn with_response(response: impl Into<Vec<u8>>) -> Self {
        let response = response.into();
        let Peer { listener, endpoint } = Peer::start().await;
        let calls = Arc::new(Mutex::new(Vec::new()));
        let recorded_calls = Arc::clone(&calls);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                connections.spawn(respond(socket, response.clone(), Arc::clone(&recorded_calls)));
            }
        });

        Self { endpoint, calls, _serving: serving }
    }

    /// Starts an upstream that responds with this JSON and status 200.
    pub async fn with_json(json: &str) -> Self {
        Self::with_response(response("200 OK", "content-type: application/json\r\n", json)).await
    }

    /// Returns the requests so far.
    pub fn calls(&self) -> Vec<Request> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the only request; panics if there were none or several.
    pub fn call(&self) -> Request {
        let [call] = <[Request; 1]>::try_from(self.calls()).expect("one call");
        call
    }
}

/// Formats a response; each header must end with its line break.
pub fn response(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

async fn respond(mut socket: TcpStream, response: Vec<u8>, calls: Arc<Mutex<Vec<Request>>>) {
    let Some(request) = read(&mut socket).await else { return };
    calls.lock().unwrap_or_else(PoisonError::into_inner).push(request);
    drop(socket.write_all(&response).await);
    drop(socket.shutdown().await);
    // Closing with unread bytes would reset the connection.
    drop(socket.read_to_end(&mut Vec::new()).await);
}

/// Reads a request with a `Content-Length`; `None` if the client closes early.
pub async fn read(socket: &mut TcpStream) -> Option<Request> {
    let mut raw = Vec::new();
    let end = loop {
        if let Some(end) = raw.windows(4).position(|it| it == b"\r\n\r\n") {
            break end + 4;
        }
        if socket.read_buf(&mut raw).await.ok()? == 0 {
            return None;
        }
    };
    let body = raw.split_off(end);
    let head = String::from_utf8(raw).ok()?;
    let length = head
        .lines()
        .filter_map(|it| it.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse::<usize>().ok())?;

    let mut request = Request { head, body };
    request.body.reserve_exact(length.saturating_sub(request.body.len()));

    while request.body.len() < length {
        if socket.read_buf(&mut request.body).await.ok()? == 0 {
            return None;
        }
    }

    Some(request)
}
