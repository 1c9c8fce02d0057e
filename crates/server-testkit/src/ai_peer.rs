//! An upstream on a plain socket, which says exactly what a test makes it say.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The head of an event stream that ends with its connection.
pub const EVENTS: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// An answer with a message, and nothing that need not be there.
pub const WHOLE: &str =
    r#"{"choices":[{"message":{"role":"assistant","content":"Fine."},"finish_reason":"stop"}]}"#;

/// Longer than a call takes to come.
const PATIENCE: Duration = Duration::from_secs(15);

/// A call that was read to the end of its body.
pub struct Call {
    socket: TcpStream,
}

/// A call that has arrived.
pub struct Unread(TcpStream);

/// Recorded request.
#[derive(Debug, Clone)]
pub struct Request {
    /// Request line and headers.
    pub head: String,
    /// Body.
    pub body: Vec<u8>,
}

impl Request {
    /// The body, which is UTF-8.
    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("a text")
    }

    /// The headers' names, sorted, in lower case.
    pub fn headers(&self) -> Vec<String> {
        let lines = self.head.lines().skip(1).filter_map(|it| it.split_once(':'));
        let mut names: Vec<_> = lines.map(|(name, _)| name.to_ascii_lowercase()).collect();
        names.sort_unstable();
        names
    }
}

/// Takes calls one after the other, and leaves their answers to the test.
pub struct Peer {
    /// Listener whose connections the test accepts.
    pub listener: TcpListener,
    /// Base URL.
    pub endpoint: String,
}

impl Peer {
    /// Listens on a free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let endpoint = format!("http://{}/v1", listener.local_addr().expect("an address"));
        Self { listener, endpoint }
    }

    /// The next call.
    pub async fn call(&self) -> Call {
        self.accept().await.read().await
    }

    /// The connection of the next call, of which nothing is read yet.
    pub async fn accept(&self) -> Unread {
        let accepted = tokio::time::timeout(PATIENCE, self.listener.accept()).await;
        let (socket, _) = accepted.expect("a call in time").expect("a connection");
        socket.set_nodelay(true).expect("an option");
        Unread(socket)
    }
}

impl Unread {
    /// Reads the request.
    pub async fn read(self) -> Call {
        let mut socket = self.0;
        read(&mut socket).await.expect("a request");
        Call { socket }
    }
}

impl Call {
    /// Says something, and stays.
    pub async fn say(&mut self, text: impl AsRef<[u8]>) {
        self.socket.write_all(text.as_ref()).await.expect("a reader");
    }

    /// Repeats something until so many bytes are said, or nobody has read on
    /// for half a second. Gives how many were taken.
    pub async fn flood(&mut self, text: &[u8], max: usize) -> usize {
        let mut taken = 0;
        while taken < max {
            let message = self.socket.write(&text[taken % text.len()..]);
            match tokio::time::timeout(Duration::from_millis(500), message).await {
                Ok(message) => taken += message.expect("a reader"),
                Err(_elapsed) => break,
            }
        }
        taken
    }

    /// Waits until the caller has closed the connection.
    pub async fn gone(mut self) {
        while self.socket.read(&mut [0; 1024]).await.is_ok_and(|read| read > 0) {}
    }
}

/// Answers every call alike, and keeps what they said.
pub struct Fixed {
    /// Base URL.
    pub endpoint: String,
    calls: Arc<Mutex<Vec<Request>>>,
    _serving: JoinSet<()>,
}

impl Fixed {
    /// One that sends these bytes and hangs up.
    pub async fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let (answer, Peer { listener, endpoint }) = (answer.into(), Peer::start().await);
        let calls = Arc::new(Mutex::new(Vec::new()));
        let (stored, mut serving) = (Arc::clone(&calls), JoinSet::new());
        serving.spawn(async move {
            let mut conversations = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                conversations.spawn(converse(socket, answer.clone(), Arc::clone(&stored)));
            }
        });
        Self { endpoint, calls, _serving: serving }
    }

    /// One that gives this JSON with a 200.
    pub async fn giving(json: &str) -> Self {
        Self::answering(response("200 OK", "content-type: application/json\r\n", json)).await
    }

    /// Returns the requests so far.
    pub fn calls(&self) -> Vec<Request> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The only call there was.
    pub fn call(&self) -> Request {
        let [call] = <[Request; 1]>::try_from(self.calls()).expect("one call");
        call
    }
}

/// A whole response; each header ends with its line break.
pub fn response(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

async fn converse(mut socket: TcpStream, answer: Vec<u8>, calls: Arc<Mutex<Vec<Request>>>) {
    let Some(request) = read(&mut socket).await else { return };
    calls.lock().unwrap_or_else(PoisonError::into_inner).push(request);
    drop(socket.write_all(&answer).await);
    drop(socket.shutdown().await);
    // Hanging up on unread bytes would reset the connection.
    while socket.read(&mut [0; 1024]).await.is_ok_and(|read| read > 0) {}
}

/// Reads a request with a `Content-Length`; nothing if the caller hangs up.
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
