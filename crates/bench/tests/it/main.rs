//! Tests of the bare proxy as a process.

#![expect(clippy::expect_used, reason = "tests")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// Port that the system never assigns as a free one.
const UNUSED_PORT: u16 = 1;
const SIZED: &[u8] = b"HTTP/1.1 201 Created\r\nx-from: upstream\r\ncontent-length: 5\r\n\r\nhello";
const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
    transfer-encoding: chunked\r\n\r\n7\r\ndata: 1\r\n2\r\n\n\n\r\n0\r\n\r\n";

#[test]
fn a_full_response_is_forwarded_with_its_length() {
    let (proxy, requests) = Proxy::with_upstream(SIZED);

    let response = proxy.send("POST /v1/x?y=z HTTP/1.1\r\nauthorization: Bearer t\r\n");

    assert!(response.starts_with("HTTP/1.1 201 Created\r\n"), "{response}");
    assert!(response.contains("\r\nx-from: upstream\r\n"), "{response}");
    assert!(response.contains("\r\ncontent-length: 5\r\n"), "{response}");
    assert!(response.ends_with("\r\n\r\nhello"), "{response}");
    let request = requests.recv().expect("a request");
    assert!(request.starts_with("POST /v1/x?y=z HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("authorization: Bearer t\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\nbody"), "{request}");
}

#[test]
fn a_stream_is_forwarded_as_a_stream() {
    let (proxy, _requests) = Proxy::with_upstream(CHUNKED);

    let response = proxy.send("POST /v1/x HTTP/1.1\r\n");

    assert!(response.contains("content-type: text/event-stream\r\n"), "{response}");
    assert!(response.contains("transfer-encoding: chunked\r\n"), "{response}");
    assert!(response.contains("data: 1") && response.ends_with("0\r\n\r\n"), "{response}");
}

#[test]
fn an_unreachable_upstream_is_a_bad_gateway() {
    let proxy = Proxy::start(([127, 0, 0, 1], UNUSED_PORT).into());

    let response = proxy.send("POST /v1/x HTTP/1.1\r\n");

    assert!(response.starts_with("HTTP/1.1 502 "), "{response}");
}

/// Running proxy, killed at the end of the test.
struct Proxy {
    child: Child,
    address: SocketAddr,
}

impl Proxy {
    /// Starts a proxy with an upstream stub that sends this response. The
    /// receiver yields the requests of the upstream.
    fn with_upstream(response: &'static [u8]) -> (Self, Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let upstream = listener.local_addr().expect("its address");
        let (sender, requests) = channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("a connection");
                let request = read_until(&mut stream, "body");
                stream.write_all(response).expect("the proxy listens");
                if sender.send(request).is_err() {
                    return;
                }
            }
        });
        (Self::start(upstream), requests)
    }

    fn start(upstream: SocketAddr) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pia-bench-bare-proxy"))
            .args(["127.0.0.1:0", &upstream.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the proxy");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("its output");
        BufReader::new(stdout).read_line(&mut line).expect("its address");
        Self { child, address: line.trim().parse().expect("an address") }
    }

    fn send(&self, head: &str) -> String {
        let mut stream = TcpStream::connect(self.address).expect("the proxy");
        let rest = "host: x\r\nconnection: close\r\ncontent-length: 4\r\n\r\nbody";
        stream.write_all(format!("{head}{rest}").as_bytes()).expect("a request");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("an answer");
        response
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = String::new();
    let mut buffer = [0; 1024];
    while !text.ends_with(end) {
        let bytes = stream.read(&mut buffer).expect("a request");
        assert!(bytes > 0, "the request ended early: {text}");
        text += &String::from_utf8_lossy(buffer.get(..bytes).unwrap_or_default());
    }
    text
}
