//! Incremental parser of HTTP/1.1 responses.
//!
//! A state machine (`Next`) over the received bytes: head, then a body of a known
//! length or of chunks. `push` takes bytes in any division and returns at most one
//! response. `Connection` feeds it.

use std::fmt;

use memchr::memmem;

/// Maximum sizes of a response head and body.
const MAX_HEAD_BYTES: usize = 64 * 1024;
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// Complete response, its body without the framing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// Value of the `ETag` header.
    pub(crate) tag: Option<String>,
    pub(crate) body: Vec<u8>,
}

/// Error for bytes that are not a supported response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed(&'static str);

/// Parser of the responses of one connection, in pieces of any size.
#[derive(Debug, Default)]
pub(crate) struct ResponseReader {
    buffer: Vec<u8>,
    next: Next,
    status: u16,
    tag: Option<String>,
    body: Vec<u8>,
}

/// Parser state: the expected meaning of the next bytes.
#[derive(Debug, Default, Clone, Copy)]
enum Next {
    #[default]
    Head,
    /// Body of known length, in bytes.
    Sized(usize),
    ChunkSize,
    /// Chunk of this many bytes, followed by a line end.
    Chunk(usize),
    /// Lines up to an empty one, after the last chunk.
    Trailer,
    Done,
}

impl ResponseReader {
    /// Parses the received bytes and returns the response once it is complete.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Result<Option<Response>, Malformed> {
        self.buffer.extend_from_slice(piece);
        while let Some(next) = self.parse_part()? {
            self.next = next;
        }
        if !matches!(self.next, Next::Done) {
            return Ok(None);
        }
        self.next = Next::Head;
        let tag = self.tag.take();
        let body = std::mem::take(&mut self.body);
        Ok(Some(Response { status: self.status, tag, body }))
    }

    /// Returns `true` if no part of a next response is buffered.
    pub(crate) fn is_between_responses(&self) -> bool {
        matches!(self.next, Next::Head) && self.buffer.is_empty()
    }

    /// Parses the next part and returns the state after it; `None` if the part is not buffered
    /// completely, or the response is complete.
    fn parse_part(&mut self) -> Result<Option<Next>, Malformed> {
        match self.next {
            Next::Done => Ok(None),
            Next::Head => self.head(),
            Next::Sized(0) => Ok(Some(Next::Done)),
            Next::Sized(remaining) => self.sized(remaining),
            Next::ChunkSize => self.chunk_size(),
            Next::Chunk(size) => self.chunk(size),
            Next::Trailer => {
                let line = self.line()?;
                Ok(line.map(|it| if it.is_empty() { Next::Done } else { Next::Trailer }))
            }
        }
    }

    fn head(&mut self) -> Result<Option<Next>, Malformed> {
        let Some(end) = memmem::find(&self.buffer, b"\r\n\r\n") else {
            let may_continue = self.buffer.len() <= MAX_HEAD_BYTES;
            return if may_continue { Ok(None) } else { Err(Malformed("the head is too long")) };
        };

        let bytes: Vec<u8> = self.buffer.drain(..end + 4).collect();
        let text = String::from_utf8(bytes).map_err(|_err| Malformed("the head is no text"))?;
        let mut lines = text.lines();
        self.status = status(lines.next().unwrap_or_default())?;
        let mut next = None;
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();

            if name.eq_ignore_ascii_case("transfer-encoding")
                && value.eq_ignore_ascii_case("chunked")
            {
                next = Some(Next::ChunkSize);
            } else if name.eq_ignore_ascii_case("content-length") && next.is_none() {
                let length = value.parse().map_err(|_err| Malformed("the length is no number"))?;
                next = Some(Next::Sized(length));
            } else if name.eq_ignore_ascii_case("etag") {
                self.tag = Some(value.to_owned());
            }
        }

        match next {
            // These have no body, whatever length they announce.
            _ if [204, 304].contains(&self.status) => Ok(Some(Next::Done)),
            Some(Next::Sized(length)) if length > MAX_BODY_BYTES => Err(TOO_LONG),
            None => Err(Malformed("the body has neither a length nor chunks")),
            some => Ok(some),
        }
    }

    fn sized(&mut self, remaining: usize) -> Result<Option<Next>, Malformed> {
        if self.buffer.is_empty() {
            return Ok(None);
        }
        let taken = remaining.min(self.buffer.len());
        self.take_body(taken)?;
        Ok(Some(Next::Sized(remaining - taken)))
    }

    fn chunk_size(&mut self) -> Result<Option<Next>, Malformed> {
        let Some(line) = self.line()? else { return Ok(None) };
        let digits = line.split(';').next().unwrap_or_default().trim();
        let size =
            usize::from_str_radix(digits, 16).map_err(|_err| Malformed("a chunk has no size"))?;
        if size > MAX_BODY_BYTES {
            return Err(TOO_LONG);
        }
        Ok(Some(if size == 0 { Next::Trailer } else { Next::Chunk(size) }))
    }

    fn chunk(&mut self, size: usize) -> Result<Option<Next>, Malformed> {
        if self.buffer.len() < size + 2 {
            return Ok(None);
        }
        self.take_body(size)?;
        let end: Vec<u8> = self.buffer.drain(..2).collect();
        if end == b"\r\n" { Ok(Some(Next::ChunkSize)) } else { Err(Malformed("a chunk overran")) }
    }

    /// Returns the next line without its end, if it is buffered completely.
    fn line(&mut self) -> Result<Option<String>, Malformed> {
        let Some(end) = memmem::find(&self.buffer, b"\r\n") else {
            let may_continue = self.buffer.len() <= MAX_HEAD_BYTES;
            return if may_continue { Ok(None) } else { Err(Malformed("a line is too long")) };
        };
        let mut line: Vec<u8> = self.buffer.drain(..end + 2).collect();
        line.truncate(end);
        String::from_utf8(line).map(Some).map_err(|_err| Malformed("a line is no text"))
    }

    fn take_body(&mut self, bytes: usize) -> Result<(), Malformed> {
        if self.body.len() + bytes > MAX_BODY_BYTES {
            return Err(TOO_LONG);
        }
        self.body.extend(self.buffer.drain(..bytes));
        Ok(())
    }
}

const TOO_LONG: Malformed = Malformed("the body is too long");

fn status(line: &str) -> Result<u16, Malformed> {
    line.strip_prefix("HTTP/1.1 ")
        .ok_or(Malformed("it is no answer of HTTP/1.1"))?
        .split(' ')
        .next()
        .unwrap_or_default()
        .parse()
        .map_err(|_err| Malformed("the status is no number"))
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the answer cannot be read: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

#[cfg(test)]
mod tests;
