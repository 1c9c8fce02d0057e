//! Stub server for the tests of the loads.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use crate::call::{Call, Expectation};

/// Starts a server that responds to every request with the same bytes until the
/// tests end. Empty bytes close the connection instead.
pub(crate) fn stub_server(response: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            thread::spawn(move || serve(stream, response));
        }
    });
    address
}

/// Creates a call that requires a response with `hello`.
pub(crate) fn hello_call(to: SocketAddr) -> Call {
    Call::get(to, "/", Expectation::Holds(b"hello".to_vec()))
}

pub(crate) const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
pub(crate) const BUSY: &[u8] = b"HTTP/1.1 503 Busy\r\ncontent-length: 5\r\n\r\nlater";

fn serve(mut stream: TcpStream, response: &[u8]) {
    let mut buffer = [0; 4096];
    // The loads send one request at a time, so that each arrives in one piece.
    while stream.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {
        if response.is_empty() || stream.write_all(response).is_err() {
            return;
        }
    }
}
