//! The bare proxy, as the process that the benchmark starts.

#![expect(clippy::expect_used, reason = "tests")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// A port that the system gives to nobody who requests a free one.
const NOBODY: u16 = 1;
const SIZED: &[u8] = b"HTTP/1.1 201 Created\r\nx-from: upstream\r\ncontent-length: 5\r\n\r\nhello";
const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
    transfer-encoding: chunked\r\n\r\n7\r\ndata: 1\r\n2\r\n\n\n\r\n0\r\n\r\n";

#[test]
fn a_whole_answer_passes_with_its_length() {
    let (proxy, seen) = Proxy::before(SIZED);

    let answer = proxy.ask("POST /v1/x?y=z HTTP/1.1\r\nauthorization: Bearer t\r\n");

    assert!(answer.starts_with("HTTP/1.1 201 Created\r\n"), "{answer}");
    assert!(answer.contains("\r\nx-from: upstream\r\n"), "{answer}");
    assert!(answer.contains("\r\ncontent-length: 5\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\nhello"), "{answer}");
    let request = seen.recv().expect("a request");
    assert!(request.starts_with("POST /v1/x?y=z HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("authorization: Bearer t\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\nbody"), "{request}");
}

#[test]
fn a_stream_passes_as_a_stream() {
    let (proxy, _seen) = Proxy::before(CHUNKED);

    let answer = proxy.ask("POST /v1/x HTTP/1.1\r\n");

    assert!(answer.contains("content-type: text/event-stream\r\n"), "{answer}");
    assert!(answer.contains("transfer-encoding: chunked\r\n"), "{answer}");
    assert!(answer.contains("data: 1") && answer.ends_with("0\r\n\r\n"), "{answer}");
}

#[test]
fn an_upstream_that_is_gone_is_a_bad_gateway() {
    let proxy = Proxy::start(([127, 0, 0, 1], NOBODY).into());

    let answer = proxy.ask("POST /v1/x HTTP/1.1\r\n");

    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
}

/// A running proxy, ended with the test.
struct Proxy {
    child: Child,
    address: SocketAddr,
}

impl Proxy {
    /// Upstream stub that sends this answer; returns what the upstream receives.
    fn before(answer: &'static [u8]) -> (Self, Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let upstream = listener.local_addr().expect("its address");
        let (report, seen) = channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("a connection");
                let request = read_until(&mut stream, "body");
                stream.write_all(answer).expect("the proxy listens");
                if report.send(request).is_err() {
                    return;
                }
            }
        });
        (Self::start(upstream), seen)
    }

    fn start(upstream: SocketAddr) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pia-bench-bare-proxy"))
            .args(["127.0.0.1:0", &upstream.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the proxy");
        let mut line = String::new();
        let reported = child.stdout.take().expect("what it says");
        BufReader::new(reported).read_line(&mut line).expect("its address");
        Self { child, address: line.trim().parse().expect("an address") }
    }

    fn ask(&self, head: &str) -> String {
        let mut stream = TcpStream::connect(self.address).expect("the proxy");
        let rest = "host: x\r\nconnection: close\r\ncontent-length: 4\r\n\r\nbody";
        stream.write_all(format!("{head}{rest}").as_bytes()).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let (mut text, mut buffer) = (String::new(), [0; 1024]);
    while !text.ends_with(end) {
        let bytes = stream.read(&mut buffer).expect("a request");
        assert!(bytes > 0, "the request ended early: {text}");
        text += &String::from_utf8_lossy(buffer.get(..bytes).unwrap_or_default());
    }
    text
}
