//! Requests of HTTP over a connection that is kept alive.

use std::net::SocketAddr;
use std::ops::Range;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Connection of a client.
pub(crate) struct HttpClient {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl HttpClient {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: Vec::new() }
    }

    /// Sends a request without a body, and returns its status and the response's
    /// body.
    pub(crate) async fn send(&mut self, method: &str, path: &str, headers: &str) -> (u16, String) {
        let request =
            format!("{method} {path} HTTP/1.1\r\nhost: test\r\ncontent-length: 0\r\n{headers}\r\n");
        self.stream.write_all(request.as_bytes()).await.unwrap();
        loop {
            if let Some(head) = parse_head(&self.buffer)
                && self.buffer.len() >= head.body.end
            {
                let body = self.buffer[head.body.clone()].to_vec();
                self.buffer.drain(..head.body.end);
                return (head.status, String::from_utf8(body).unwrap());
            }
            let count = self.stream.read_buf(&mut self.buffer).await.unwrap();
            assert!(count > 0, "the connection has ended");
        }
    }

    pub(crate) async fn get(&mut self, path: &str) -> (u16, String) {
        self.send("GET", path, "").await
    }
}

struct ResponseHead {
    status: u16,
    /// Range of the body in the received bytes.
    body: Range<usize>,
}

/// Parses the head of a response; `None` if it is incomplete.
fn parse_head(response: &[u8]) -> Option<ResponseHead> {
    let end = response.windows(4).position(|it| it == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&response[..end]).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let mut lengths = head.lines().filter_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length").then(|| value.parse().unwrap())
    });
    let length: usize = lengths.next().unwrap_or_default();
    let start = end + 4;
    Some(ResponseHead { status, body: start..start + length })
}
