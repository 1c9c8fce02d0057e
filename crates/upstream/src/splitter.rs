//! Cuts an event stream into frames.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use memchr::{memchr, memchr2};
use pia_assistant::{Frame, UpstreamError};
use serde::de::IgnoredAny;

use crate::look::Look;

/// Cuts a body into frames, wherever its pieces were cut; no I/O.
///
/// Events in the one form that every client reads, `data: …\n\n`, go on as
/// slices of the piece they came in, neighbours together. All others are
/// written anew in that form. Only an unfinished event is held, up to a limit.
#[derive(Debug)]
pub(crate) struct Splitter {
    look: Arc<Look>,
    limit: usize,
    held: BytesMut,
    line: Line,
    ending: Ending,
}

impl Splitter {
    /// A splitter that refuses events of more than `limit` bytes.
    pub(crate) fn new(look: Arc<Look>, limit: usize) -> Self {
        Self { look, limit, held: BytesMut::new(), line: Line::Empty, ending: Ending::Open }
    }

    /// Takes the next piece of the body and gives out what it completes.
    /// What follows `[DONE]` is left aside.
    pub(crate) fn push(
        &mut self,
        piece: &Bytes,
        sink: &mut impl FnMut(Frame),
    ) -> Result<(), UpstreamError> {
        let mut run = Run::default();
        let mut outcome = Ok(());
        while self.ending != Ending::Done {
            let Some(end) = self.line.end_of_event(piece, run.end) else {
                outcome = self.hold(piece.get(run.end..).unwrap_or_default());
                break;
            };
            if self.held.len() + (end - run.end) > self.limit {
                outcome = Err(UpstreamError::TooLong);
                break;
            }
            if self.held.is_empty() {
                self.read_in_place(piece, &mut run, end, sink);
            } else {
                self.held.extend_from_slice(piece.get(run.end..end).unwrap_or_default());
                let event = self.held.split().freeze();
                run = Run::starting_at(end);
                sink(self.read(&event).unwrap_or_else(|| Frame::Pass { bytes: event, events: 1 }));
            }
        }
        run.give(piece, sink);
        outcome
    }

    /// Takes the end of the body. It is a proper one after `[DONE]` or a
    /// reason for the end; whatever else ends an answer has cut it off.
    pub(crate) fn finish(&mut self, sink: &mut impl FnMut(Frame)) -> Result<(), UpstreamError> {
        // Some upstreams leave out the blank line after their last event.
        let rest = self.held.split().freeze();
        if let Some(data) = data_of(&rest)
            && (is_done(&data) || serde_json::from_slice::<IgnoredAny>(&data).is_ok())
        {
            sink(self.frame(data));
        }
        if self.ending == Ending::Open { Err(UpstreamError::Cut) } else { Ok(()) }
    }

    /// Whether the answer has given a reason for its end: what may still come
    /// is usage and `[DONE]`.
    pub(crate) fn is_finished(&self) -> bool {
        self.ending != Ending::Open
    }

    fn hold(&mut self, rest: &[u8]) -> Result<(), UpstreamError> {
        if self.held.len() + rest.len() > self.limit {
            return Err(UpstreamError::TooLong);
        }
        self.held.extend_from_slice(rest);
        Ok(())
    }

    /// Reads the event that ends at `end` and lies whole in `piece`.
    fn read_in_place(
        &mut self,
        piece: &Bytes,
        run: &mut Run,
        end: usize,
        sink: &mut impl FnMut(Frame),
    ) {
        match self.read(&piece.slice(run.end..end)) {
            None => run.add(end),
            Some(frame) => {
                run.give(piece, sink);
                *run = Run::starting_at(end);
                sink(frame);
            }
        }
    }

    /// The frame of a whole event; nothing if it can go on as it is.
    fn read(&mut self, event: &Bytes) -> Option<Frame> {
        let Some(data) = canonical(event) else {
            return Some(data_of(event).map_or(Frame::Alive, |data| self.frame(data)));
        };
        match self.meaning(data) {
            Meaning::Pass => None,
            Meaning::Look => Some(Frame::Look(event.slice_ref(data))),
            Meaning::Done => Some(Frame::Done),
            Meaning::Nothing => Some(Frame::Alive),
        }
    }

    /// The frame of an event that has to be written anew.
    fn frame(&mut self, data: Bytes) -> Frame {
        match self.meaning(&data) {
            Meaning::Pass => {
                let mut bytes = BytesMut::with_capacity(data.len() + 8);
                bytes.put_slice(b"data: ");
                bytes.put_slice(&data);
                bytes.put_slice(b"\n\n");
                Frame::Pass { bytes: bytes.freeze(), events: 1 }
            }
            Meaning::Look => Frame::Look(data),
            Meaning::Done => Frame::Done,
            Meaning::Nothing => Frame::Alive,
        }
    }

    fn meaning(&mut self, data: &[u8]) -> Meaning {
        if data.trim_ascii().is_empty() {
            return Meaning::Nothing;
        }
        if is_done(data) {
            self.ending = Ending::Done;
            return Meaning::Done;
        }
        // Every client counts on objects, and some stop at what is none.
        if !is_object(data) {
            return Meaning::Nothing;
        }
        let finishes = self.look.finishes(data);
        if finishes {
            self.ending = Ending::Finished;
        }
        if finishes || self.look.tells(data) { Meaning::Look } else { Meaning::Pass }
    }
}

/// What the data of an event is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Pass,
    Look,
    Done,
    Nothing,
}

/// How far an answer has come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Open,
    /// A reason for the end was given.
    Finished,
    /// `[DONE]` was said.
    Done,
}

/// What the current line holds so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Empty,
    Return,
    Text,
}

impl Line {
    /// Where the event ends, behind its blank line, that goes on at `from`.
    fn end_of_event(&mut self, piece: &[u8], from: usize) -> Option<usize> {
        let mut start = from;
        while let Some(rest) = piece.get(start..) {
            let Some(at) = memchr(b'\n', rest) else {
                *self = self.with(rest);
                return None;
            };
            let line = self.with(rest.get(..at).unwrap_or_default());
            start += at + 1;
            *self = Self::Empty;
            if line != Self::Text {
                return Some(start);
            }
        }
        None
    }

    fn with(self, more: &[u8]) -> Self {
        match (self, more) {
            (line, []) => line,
            (Self::Empty, b"\r") => Self::Return,
            _ => Self::Text,
        }
    }
}

/// Neighbouring events of one piece that can go on untouched.
#[derive(Debug, Default)]
struct Run {
    start: usize,
    end: usize,
    events: u32,
}

impl Run {
    fn starting_at(start: usize) -> Self {
        Self { start, end: start, events: 0 }
    }

    fn add(&mut self, end: usize) {
        self.end = end;
        self.events += 1;
    }

    fn give(&self, piece: &Bytes, sink: &mut impl FnMut(Frame)) {
        if self.events > 0 {
            sink(Frame::Pass { bytes: piece.slice(self.start..self.end), events: self.events });
        }
    }
}

/// The data of an event that is written as every client reads it.
fn canonical(event: &[u8]) -> Option<&[u8]> {
    let data = event.strip_prefix(b"data: ")?.strip_suffix(b"\n\n")?;
    memchr2(b'\n', b'\r', data).is_none().then_some(data)
}

/// The data of any other event, on one line; nothing if it has none.
///
/// Between its lines, and for a lone carriage return, goes a space: in JSON
/// such places can only be between two tokens.
fn data_of(event: &[u8]) -> Option<Bytes> {
    let mut data = BytesMut::new();
    for line in event.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(value) = line.strip_prefix(b"data:") {
            if !data.is_empty() {
                data.put_u8(b' ');
            }
            let value = value.strip_prefix(b" ").unwrap_or(value);
            data.extend(value.iter().map(|byte| if *byte == b'\r' { b' ' } else { *byte }));
        }
    }
    (!data.is_empty()).then(|| data.freeze())
}

/// Whether this may be a JSON object, by its ends and its encoding.
fn is_object(data: &[u8]) -> bool {
    let data = data.trim_ascii();
    data.starts_with(b"{") && data.ends_with(b"}") && std::str::from_utf8(data).is_ok()
}

fn is_done(data: &[u8]) -> bool {
    data.trim_ascii() == b"[DONE]"
}

#[cfg(test)]
#[path = "splitter_tests.rs"]
mod tests;
