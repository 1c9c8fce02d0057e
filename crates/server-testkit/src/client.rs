//! An HTTP client.
//!
//! One connection a request, without a pool, redirects or cookies: tests see each
//! response as it was sent. `begin` returns the socket for tests that read
//! themselves or disconnect.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Timeout, longer than any intended wait of a test.
const TIMEOUT: Duration = Duration::from_secs(30);

/// HTTP client with its tokens.
#[derive(Debug, Clone)]
pub struct Client {
    /// Address of the server.
    pub addr: SocketAddr,
    /// Access token, or API key.
    pub access: Option<String>,
    /// Refresh token of the session, once it is signed in.
    pub refresh: Option<String>,
    /// Id of the account.
    pub user: Option<String>,
}

/// Response, read to its end.
#[derive(Debug)]
pub struct TestResponse {
    /// Status code of HTTP.
    pub status: u16,
    /// Headers, with their names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body as JSON; null if it is none.
    pub body: Value,
    /// Body, without its transfer encoding.
    pub bytes: Vec<u8>,
}

impl TestResponse {
    /// Returns the value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    /// Returns the error code, or an empty string.
    pub fn error(&self) -> &str {
        self.body["error"].as_str().unwrap_or_default()
    }

    /// Returns status and code of an error response, which must have the form of
    /// this API or of OpenAI's. OpenAI's code for a wrong token is mapped to ours.
    pub fn refusal(&self) -> (u16, &str) {
        if let Some(code) = self.body["error"]["code"].as_str() {
            let code = if code == "invalid_api_key" { "unauthorized" } else { code };
            return (self.status, code);
        }
        if self.header("content-type") == Some("application/scim+json") {
            return (self.status, self.scim_code());
        }
        assert_eq!(self.header("content-type"), Some("application/json"), "{}", self.text());
        assert!(self.body["message"].as_str().is_some_and(|it| !it.is_empty()), "{}", self.text());
        (self.status, self.error())
    }

    /// Returns the code of an error in SCIM's form; if it names none, ours for its status.
    fn scim_code(&self) -> &str {
        assert_eq!(self.body["status"], Value::from(self.status.to_string()), "{}", self.text());
        self.body["scimType"].as_str().unwrap_or(match self.status {
            401 => "unauthorized",
            404 => "not_found",
            413 => "body_too_large",
            _ => "",
        })
    }

    /// Returns the body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

impl Client {
    /// Creates a client without tokens.
    pub fn new(addr: SocketAddr) -> Self {
        Self { addr, access: None, refresh: None, user: None }
    }

    /// Takes over the tokens of a sign-in response.
    pub fn with_tokens(self, envelope: &Value) -> Self {
        let text = |it: &Value| it.as_str().map(str::to_owned);
        Self {
            access: text(&envelope["accessToken"]),
            refresh: text(&envelope["refreshToken"]),
            user: text(&envelope["user"]["id"]).or(self.user),
            ..self
        }
    }

    /// Returns the client at another instance.
    pub fn at(self, addr: SocketAddr) -> Self {
        Self { addr, ..self }
    }

    /// Sends a `GET` with the access token, if there is one.
    pub async fn get(&self, path: &str) -> TestResponse {
        self.send("GET", path, &[], b"").await
    }

    /// Sends a `POST` with a JSON body.
    pub async fn post(&self, path: &str, body: &Value) -> TestResponse {
        let headers = [("content-type", "application/json; charset=utf-8")];
        self.send("POST", path, &headers, body.to_string().as_bytes()).await
    }

    /// Sends a request and reads the full response.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> TestResponse {
        let mut socket = self.begin(method, path, headers, body).await;
        let mut raw = Vec::new();
        let reading = async {
            // A server that refuses a body may close before all of it was sent,
            // and one that does not read it closes only after a while.
            while !is_complete(&raw) {
                let count = socket.read_buf(&mut raw).await.unwrap_or_default();
                if count == 0 {
                    break;
                }
            }
        };
        tokio::time::timeout(TIMEOUT, reading).await.expect("a response in time");
        parse(&raw)
    }

    /// Sends a request and returns the socket to read the response from.
    pub async fn begin(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> TcpStream {
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            head.push_str("host: test\r\n");
        }

        let has_length =
            headers.iter().any(|(name, _)| ["transfer-encoding", "content-length"].contains(name));
        if !has_length && (!body.is_empty() || method == "POST") {
            write!(head, "content-length: {}\r\n", body.len()).expect("text");
        }

        if let Some(token) = &self.access
            && !headers.iter().any(|(name, _)| *name == "authorization")
        {
            write!(head, "authorization: Bearer {token}\r\n").expect("text");
        }

        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n").expect("text");
        }

        head.push_str("\r\n");
        let mut socket = TcpStream::connect(self.addr).await.expect("a connection");
        socket.set_nodelay(true).expect("an option");
        socket.write_all(head.as_bytes()).await.expect("a head that the server accepts");
        // The body may be refused before it is read.
        drop(socket.write_all(body).await);

        socket
    }
}

/// Returns whether a response with a `Content-Length` has fully arrived.
fn is_complete(raw: &[u8]) -> bool {
    let Some(end) = raw.windows(4).position(|it| it == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&raw[..end]).to_ascii_lowercase();
    let length: Option<usize> =
        head.lines().find_map(|it| it.strip_prefix("content-length:")?.trim().parse().ok());
    length.is_some_and(|it| raw.len() >= end + 4 + it)
}

/// Parses a response that ends with its connection.
pub fn parse(raw: &[u8]) -> TestResponse {
    let end = raw.windows(4).position(|it| it == b"\r\n\r\n").expect("a complete head");
    let head = String::from_utf8_lossy(&raw[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|it| it.split(' ').nth(1)?.parse().ok());

    let headers: Vec<(String, String)> = lines
        .filter_map(|it| it.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();

    let chunked =
        headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    let bytes = if chunked { unchunked(&raw[end + 4..]) } else { raw[end + 4..].to_vec() };
    let body = serde_json::from_slice(&bytes).unwrap_or_default();

    TestResponse { status: status.expect("a status"), headers, body, bytes }
}

/// Decodes a chunked body, as far as its chunks have arrived.
pub fn unchunked(mut raw: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::new();
    while let Some(end) = raw.windows(2).position(|it| it == b"\r\n") {
        let digits = String::from_utf8_lossy(&raw[..end]);
        let size = usize::from_str_radix(digits.trim(), 16).unwrap_or(0);
        if size == 0 || raw.len() < end + 2 + size {
            break;
        }
        decoded.extend_from_slice(&raw[end + 2..end + 2 + size]);
        raw = raw.get(end + 4 + size..).unwrap_or_default();
    }
    decoded
}

/// Returns the names of an object's fields, sorted.
pub fn keys(object: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = object.as_object().expect("an object").keys().collect();
    keys.sort();
    keys.into_iter().map(String::as_str).collect()
}
