//! Splitting of an event stream into frames.
//!
//! `FrameStream` calls `push` with each piece of the body and `finish` at its end. An event
//! becomes `Frame::Forward` if the filter ignores it, `Frame::Inspect` if `assistant` must
//! read it, and `Frame::Alive` or `Frame::Unreadable` if it has no object. Begin with
//! `parse_event`; `LineState` finds the ends of events, `PassRun` joins adjacent ones.
//! The fuzz target `splitter` feeds arbitrary pieces.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use memchr::memchr2;
use pia_assistant::{Frame, UpstreamError};
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use crate::event_filter::{EventFilter, FinishReason};

/// Byte order mark that some upstreams send before the first event.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Splitter of a body into frames, however its pieces were cut; no I/O.
///
/// Lines may end as the event stream format allows: with a line feed, a
/// carriage return, or both.
///
/// Events in the form that every client reads, `data: …\n\n`, are passed on as
/// slices of their piece, adjacent ones together. All others are rewritten in
/// that form. Only an unfinished event is buffered, up to a limit.
#[derive(Debug)]
pub(crate) struct Splitter {
    filter: Arc<EventFilter>,
    limit: usize,
    buffer: BytesMut,
    line: LineState,
    /// Set after the first event.
    has_event: bool,
    ending: StreamEnd,
}

impl Splitter {
    /// Creates a splitter that refuses events of more than `limit` bytes.
    pub(crate) fn new(filter: Arc<EventFilter>, limit: usize) -> Self {
        let buffer = BytesMut::new();
        let line = LineState::default();
        Self { filter, limit, buffer, line, has_event: false, ending: StreamEnd::Open }
    }

    /// Takes the next piece of the body and emits the frames that it completes.
    /// Anything after `[DONE]` is ignored.
    pub(crate) fn push(
        &mut self,
        piece: &Bytes,
        sink: &mut impl FnMut(Frame),
    ) -> Result<(), UpstreamError> {
        let mut run = PassRun::default();
        let mut outcome = Ok(());
        while self.ending != StreamEnd::Done {
            if self.buffer.is_empty() && self.line.skip_line_feed(piece, run.end) {
                run = PassRun::starting_at(run.end + 1);
            }

            let Some(end) = self.line.end_of_event(piece, run.end) else {
                outcome = self.append(piece.get(run.end..).unwrap_or_default());
                break;
            };
            if self.buffer.len() + (end - run.end) > self.limit {
                outcome = Err(UpstreamError::TooLong);
                break;
            }

            if self.buffer.is_empty() {
                self.read_in_place(piece, &mut run, end, sink);
            } else {
                self.buffer.extend_from_slice(piece.get(run.end..end).unwrap_or_default());
                let event = self.buffer.split().freeze();
                run = PassRun::starting_at(end);
                let frame = self.parse_event(&event);
                sink(frame.unwrap_or_else(|| Frame::Forward { bytes: event, events: 1 }));
            }
        }

        run.emit(piece, sink);

        outcome
    }

    /// Takes the end of the body. It is regular after `[DONE]` or a finish
    /// reason; otherwise the response was cut off.
    pub(crate) fn finish(&mut self, sink: &mut impl FnMut(Frame)) -> Result<(), UpstreamError> {
        // Some upstreams omit the blank line after their last event.
        let buffered = self.buffer.split().freeze();
        let last_event = self.strip_mark(&buffered).unwrap_or(buffered);
        if let Some(data) = data_of(&last_event)
            && (is_done(&data) || serde_json::from_slice::<IgnoredAny>(&data).is_ok())
        {
            sink(self.frame(data));
        }
        if self.ending == StreamEnd::Open { Err(UpstreamError::Cut) } else { Ok(()) }
    }

    /// Returns whether a finish reason was received: only usage and `[DONE]`
    /// may still follow.
    pub(crate) fn is_finished(&self) -> bool {
        self.ending != StreamEnd::Open
    }

    /// Buffers the beginning of an unfinished event.
    fn append(&mut self, beginning: &[u8]) -> Result<(), UpstreamError> {
        if self.buffer.len() + beginning.len() > self.limit {
            return Err(UpstreamError::TooLong);
        }
        self.buffer.extend_from_slice(beginning);
        Ok(())
    }

    /// Reads the event that ends at `end` and is contained in `piece`.
    fn read_in_place(
        &mut self,
        piece: &Bytes,
        run: &mut PassRun,
        end: usize,
        sink: &mut impl FnMut(Frame),
    ) {
        match self.parse_event(&piece.slice(run.end..end)) {
            None => run.add(end),
            Some(frame) => {
                run.emit(piece, sink);
                *run = PassRun::starting_at(end);
                sink(frame);
            }
        }
    }

    /// Returns the first event without its byte order mark, if it has one.
    fn strip_mark(&mut self, event: &Bytes) -> Option<Bytes> {
        let is_first = !std::mem::replace(&mut self.has_event, true);
        let marked = is_first && event.starts_with(BYTE_ORDER_MARK);
        marked.then(|| event.slice(BYTE_ORDER_MARK.len()..))
    }

    /// Returns the frame of a complete event, or `None` if it can be passed on
    /// unchanged.
    fn parse_event(&mut self, event: &Bytes) -> Option<Frame> {
        if let Some(event) = self.strip_mark(event) {
            return Some(data_of(&event).map_or(Frame::Alive, |data| self.frame(data)));
        }
        let Some(data) = canonical(event) else {
            let Some(data) = data_of(event) else { return Some(Frame::Alive) };
            let object = if is_error(event) { wrap_error(data) } else { data };
            return Some(self.frame(object));
        };
        match self.classify(data) {
            EventKind::Forward => None,
            EventKind::Inspect => Some(Frame::Inspect(event.slice_ref(data))),
            EventKind::Done => Some(Frame::Done),
            EventKind::Nothing => Some(Frame::Alive),
            EventKind::Unreadable => Some(Frame::Unreadable),
        }
    }

    /// Returns the frame of an event that must be rewritten.
    fn frame(&mut self, data: Bytes) -> Frame {
        match self.classify(&data) {
            EventKind::Forward => {
                let mut bytes = BytesMut::with_capacity(data.len() + 8);
                bytes.put_slice(b"data: ");
                bytes.put_slice(&data);
                bytes.put_slice(b"\n\n");
                Frame::Forward { bytes: bytes.freeze(), events: 1 }
            }
            EventKind::Inspect => Frame::Inspect(data),
            EventKind::Done => Frame::Done,
            EventKind::Nothing => Frame::Alive,
            EventKind::Unreadable => Frame::Unreadable,
        }
    }

    /// Returns the kind of an event by its data, and records the end of the response.
    fn classify(&mut self, data: &[u8]) -> EventKind {
        if data.trim_ascii().is_empty() {
            return EventKind::Nothing;
        }
        if is_done(data) {
            self.ending = StreamEnd::Done;
            return EventKind::Done;
        }
        // Every client expects objects, and some stop at anything else.
        if !is_object(data) {
            return EventKind::Unreadable;
        }
        // The reader of the frame reports the invalid text.
        if std::str::from_utf8(data).is_err() {
            return EventKind::Inspect;
        }

        let finish_reason = self.filter.finish_reason(data);
        if finish_reason == FinishReason::Present {
            self.ending = StreamEnd::Finished;
        }

        if finish_reason != FinishReason::None || self.filter.selects(data) {
            EventKind::Inspect
        } else {
            EventKind::Forward
        }
    }
}

/// Kind of an event by its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventKind {
    Forward,
    Inspect,
    Done,
    Nothing,
    /// Event is data but not an object.
    Unreadable,
}

/// Progress of a response towards its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamEnd {
    Open,
    /// A finish reason was received.
    Finished,
    /// `[DONE]` was received.
    Done,
}

/// State of the current line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct LineState {
    /// Set if it is not empty.
    has_text: bool,
    /// Set if the previous line ended with a carriage return, to which a line
    /// feed may belong.
    returned: bool,
}

impl LineState {
    /// Returns the end, after its blank line, of the event that continues at
    /// `from`.
    fn end_of_event(&mut self, piece: &[u8], from: usize) -> Option<usize> {
        let mut start = from;
        while let Some(rest) = piece.get(start..) {
            if self.skip_line_feed(piece, start) {
                start += 1;
                continue;
            }
            let Some(at) = memchr2(b'\n', b'\r', rest) else {
                self.has_text |= !rest.is_empty();
                self.returned &= rest.is_empty();
                return None;
            };

            let is_blank = at == 0 && !self.has_text;
            let returned = rest.get(at) == Some(&b'\r');
            *self = Self { has_text: false, returned };
            start += at + 1;
            if is_blank {
                return Some(start);
            }
        }

        None
    }

    /// Returns whether a line feed follows that belongs to the end of the
    /// previous line, and skips it.
    fn skip_line_feed(&mut self, piece: &[u8], at: usize) -> bool {
        let continues = self.returned && !self.has_text && piece.get(at) == Some(&b'\n');
        self.returned &= !continues;
        continues
    }
}

/// Adjacent events of one piece that are passed on unchanged.
#[derive(Debug, Default)]
struct PassRun {
    start: usize,
    end: usize,
    events: u32,
}

impl PassRun {
    fn starting_at(start: usize) -> Self {
        Self { start, end: start, events: 0 }
    }

    fn add(&mut self, end: usize) {
        self.end = end;
        self.events += 1;
    }

    fn emit(&self, piece: &Bytes, sink: &mut impl FnMut(Frame)) {
        if self.events > 0 {
            sink(Frame::Forward { bytes: piece.slice(self.start..self.end), events: self.events });
        }
    }
}

/// Returns the data of an event in the form that every client reads.
fn canonical(event: &[u8]) -> Option<&[u8]> {
    let data = event.strip_prefix(b"data: ")?.strip_suffix(b"\n\n")?;
    memchr2(b'\n', b'\r', data).is_none().then_some(data)
}

/// Returns the data of any other event on one line, or `None` if it has none.
///
/// Lines are joined by a space: in JSON they can only end between two tokens.
fn data_of(event: &[u8]) -> Option<Bytes> {
    let mut data = BytesMut::new();
    for line in event.split(|byte| matches!(byte, b'\n' | b'\r')) {
        if let Some(value) = line.strip_prefix(b"data:") {
            if !data.is_empty() {
                data.put_u8(b' ');
            }
            data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
        }
    }
    (!data.is_empty()).then(|| data.freeze())
}

/// Returns whether the type of an event is `error`.
fn is_error(event: &[u8]) -> bool {
    let mut lines = event.split(|byte| matches!(byte, b'\n' | b'\r'));
    lines.any(|line| line.strip_prefix(b"event:").is_some_and(|it| it.trim_ascii() == b"error"))
}

/// Returns the data of an event of type `error` as an error object.
fn wrap_error(data: Bytes) -> Bytes {
    let object = serde_json::from_slice::<Map<String, Value>>(&data);
    let error = match object {
        Ok(object) if object.get("error").is_some_and(|it| !it.is_null()) => return data,
        Ok(object) => Value::Object(object),
        Err(_) => Value::String(String::from_utf8_lossy(&data).into_owned()),
    };
    Bytes::from(json!({ "error": error }).to_string())
}

/// Returns whether this may be a JSON object, by its ends.
fn is_object(data: &[u8]) -> bool {
    let data = data.trim_ascii();
    data.starts_with(b"{") && data.ends_with(b"}")
}

fn is_done(data: &[u8]) -> bool {
    data.trim_ascii() == b"[DONE]"
}

#[cfg(test)]
#[path = "splitter_tests.rs"]
mod tests;
