//! Persistent HTTP connection that sends one request after another.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::answer::{Response, ResponseReader};
use crate::failure::Outcome;

/// Read and write timeout, longer than the wait of a sign-in in a long queue.
const TIMEOUT: Duration = Duration::from_mins(2);

/// Connection, with the buffered part of its next response.
pub(crate) struct Connection {
    stream: TcpStream,
    reader: ResponseReader,
    /// A response that was complete before it was requested.
    buffered: Option<Response>,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(to: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(to)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        let reader = ResponseReader::default();
        let buffer = vec![0; 64 * 1024];
        Ok(Self { stream, reader, buffered: None, buffer })
    }

    /// Creates a connection on which the start of a response was already read.
    pub(crate) fn with_start(stream: TcpStream, start: &[u8]) -> Outcome<Self> {
        let mut reader = ResponseReader::default();
        let buffered = reader.push(start)?;
        Ok(Self { stream, reader, buffered, buffer: vec![0; 64 * 1024] })
    }

    /// Returns a second handle, to send on one thread and receive on another.
    pub(crate) fn sender(&self) -> io::Result<TcpStream> {
        self.stream.try_clone()
    }

    /// Sends a request and waits for the complete response.
    pub(crate) fn exchange(&mut self, request: &[u8]) -> Outcome<Response> {
        self.stream.write_all(request)?;
        self.receive()?.ok_or_else(|| "the connection was closed instead of an answer".into())
    }

    /// Waits for the next response; returns `None` if the connection was closed
    /// between responses.
    pub(crate) fn receive(&mut self) -> Outcome<Option<Response>> {
        if let Some(buffered) = self.buffered.take() {
            return Ok(Some(buffered));
        }

        loop {
            let bytes = self.stream.read(&mut self.buffer)?;
            if bytes == 0 && self.reader.is_between_responses() {
                return Ok(None);
            }
            if bytes == 0 {
                return Err("the connection was closed in the middle of an answer".into());
            }

            let piece = self.buffer.get(..bytes).unwrap_or_default();
            if let Some(response) = self.reader.push(piece)? {
                return Ok(Some(response));
            }
        }
    }
}
