//! A kept-alive connection that sends one request after another.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::answer::{Answer, AnswerReader};
use crate::failure::Outcome;

/// No contender may be silent for as long, a sign-in in a long queue included.
const SILENCE: Duration = Duration::from_mins(2);

/// Connection, and what is held of its next answer.
pub(crate) struct Connection {
    stream: TcpStream,
    reader: AnswerReader,
    /// A response that was complete before it was requested.
    whole: Option<Answer>,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(to: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(to)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        let (reader, buffer) = (AnswerReader::default(), vec![0; 64 * 1024]);
        Ok(Self { stream, reader, whole: None, buffer })
    }

    /// A connection on which the beginning of an answer was read already.
    pub(crate) fn with(stream: TcpStream, begun: &[u8]) -> Outcome<Self> {
        let mut reader = AnswerReader::default();
        let whole = reader.push(begun)?;
        Ok(Self { stream, reader, whole, buffer: vec![0; 64 * 1024] })
    }

    /// A second handle, for whoever sends while another receives.
    pub(crate) fn sender(&self) -> io::Result<TcpStream> {
        self.stream.try_clone()
    }

    /// Sends a request and waits for its whole answer.
    pub(crate) fn exchange(&mut self, request: &[u8]) -> Outcome<Answer> {
        self.stream.write_all(request)?;
        self.receive()?.ok_or_else(|| "the connection was closed instead of an answer".into())
    }

    /// The next answer; nothing where the connection ended between two.
    pub(crate) fn receive(&mut self) -> Outcome<Option<Answer>> {
        if let Some(whole) = self.whole.take() {
            return Ok(Some(whole));
        }
        loop {
            let bytes = self.stream.read(&mut self.buffer)?;
            if bytes == 0 && self.reader.is_between_answers() {
                return Ok(None);
            }
            if bytes == 0 {
                return Err("the connection was closed in the middle of an answer".into());
            }
            let piece = self.buffer.get(..bytes).unwrap_or_default();
            if let Some(answer) = self.reader.push(piece)? {
                return Ok(Some(answer));
            }
        }
    }
}
