//! A streamed answer, as its caller reads it.

use std::future::{Future, poll_fn};
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use futures_core::Stream;
use uuid::Uuid;

use crate::chunk::{self, Head, UsageChunk, Verdict};
use crate::error::AssistantError;
use crate::gateway::cost;
use crate::heartbeat::Heartbeat;
use crate::json::quoted;
use crate::nulls::Nulls;
use crate::ports::{Frame, Frames, UpstreamError, Wait, Waits};
use crate::refusal::{Tools, explained, reported};
use crate::ticket::{Cost, End, Ticket};

const KEEP_ALIVE: Bytes = Bytes::from_static(b": keep-alive\n\n");
const DONE: &str = "data: [DONE]\n\n";

pub(crate) type Opening = Pin<Box<dyn Future<Output = Result<Frames, UpstreamError>> + Send>>;

/// Whether the caller asked to be told usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UsageChunks {
    Told,
    Kept,
}

/// The bytes of an event stream: `data: ` with one object a line, and at the
/// end always `data: [DONE]`.
///
/// The upstream is read only when this is. Whatever fails becomes one last
/// chunk, `{"error": …, "message": …}`, so the stream itself never fails.
/// Comments keep it alive while the upstream is silent. Dropping it ends the
/// call upstream and writes down what the call used.
#[must_use = "an answer that is not read ends its call"]
pub struct Answer {
    phase: Phase,
    first: Option<Bytes>,
    ticket: Ticket,
    tools: Tools,
    usage: UsageChunks,
    nulls: Nulls,
    told: Option<UsageChunk>,
    said: Said,
    stop: Wait,
    heartbeat: Heartbeat,
    waits: Arc<dyn Waits>,
}

/// What the upstream has said so far that the end depends on.
#[derive(Default)]
struct Said {
    ended: bool,
    called: bool,
    head: Option<Head>,
}

enum Phase {
    Opening(Opening),
    Streaming(Frames),
    /// The last chunk is made; the end of the frames is awaited.
    Ending(Frames),
    Over,
}

impl Answer {
    pub(crate) fn new(
        opening: Opening,
        ticket: Ticket,
        waits: Arc<dyn Waits>,
        heartbeat: Duration,
    ) -> Self {
        Self {
            phase: Phase::Opening(opening),
            first: None,
            ticket,
            tools: Tools::None,
            usage: UsageChunks::Kept,
            nulls: Nulls::default(),
            told: None,
            said: Said::default(),
            stop: waits.stop(),
            heartbeat: Heartbeat::new(Arc::clone(&waits), heartbeat),
            waits,
        }
    }

    pub(crate) fn with_tools(self, tools: Tools) -> Self {
        Self { tools, ..self }
    }

    pub(crate) fn with_usage(self, usage: UsageChunks) -> Self {
        Self { usage, ..self }
    }

    /// Waits until the stream may open: with the first event in hand, or after
    /// some time all the same. What fails before is an error with a status of
    /// its own; what fails later ends the stream.
    pub(crate) async fn opened(mut self, at_latest: Duration) -> Result<Self, AssistantError> {
        let mut patience = self.waits.pause(at_latest);
        let first = poll_fn(|cx| match self.poll_chunk(cx) {
            Poll::Ready(first) => Poll::Ready(first),
            Poll::Pending => patience.as_mut().poll(cx).map(|()| None),
        })
        .await;
        self.first = first.transpose()?;
        Ok(self)
    }

    /// The next chunk; nothing after the end.
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, AssistantError>>> {
        if let Phase::Ending(frames) = &mut self.phase {
            while ready!(frames.as_mut().poll_next(cx)).is_some() {}
            self.phase = Phase::Over;
        }
        if matches!(self.phase, Phase::Over) {
            return Poll::Ready(None);
        }
        if self.stop.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Some(Err(self.fail(AssistantError::Stopping, Cost::Something))));
        }
        loop {
            let frame = ready!(self.poll_frame(cx)).transpose();
            if let Some(chunk) = self.chunk(frame).transpose() {
                return Poll::Ready(Some(chunk));
            }
        }
    }

    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame, UpstreamError>>> {
        loop {
            match &mut self.phase {
                Phase::Opening(opening) => match ready!(opening.as_mut().poll(cx)) {
                    Ok(frames) => self.phase = Phase::Streaming(frames),
                    Err(err) => return Poll::Ready(Some(Err(err))),
                },
                Phase::Streaming(frames) => return frames.as_mut().poll_next(cx),
                Phase::Ending(_) | Phase::Over => return Poll::Ready(None),
            }
        }
    }

    /// What a frame becomes for the caller; nothing if it was for us alone.
    fn chunk(
        &mut self,
        frame: Result<Option<Frame>, UpstreamError>,
    ) -> Result<Option<Bytes>, AssistantError> {
        match frame {
            Ok(Some(Frame::Pass { bytes, events })) => {
                self.ticket.meter.passed(&bytes, events);
                Ok(Some(self.nulls.left_out(bytes)))
            }
            Ok(Some(Frame::Look(json))) => self.look(&json),
            Ok(Some(Frame::Alive)) => Ok(None),
            Ok(Some(Frame::Done)) => {
                if let Phase::Streaming(frames) = mem::replace(&mut self.phase, Phase::Over) {
                    self.phase = Phase::Ending(frames);
                }
                Ok(Some(self.last_chunk()))
            }
            Ok(None) => {
                self.phase = Phase::Over;
                Ok(Some(self.last_chunk()))
            }
            Err(err) => {
                let told = explained(&err, self.tools, &self.ticket.target);
                Err(self.fail(told, cost(&err)))
            }
        }
    }

    /// Reads an event that says something to us. An event carries about one
    /// token, which is the estimate where the upstream tells no usage.
    fn look(&mut self, json: &Bytes) -> Result<Option<Bytes>, AssistantError> {
        let event = chunk::read(json);
        if let Some(usage) = event.usage {
            self.ticket.meter.told = Some(usage.usage);
            self.told = Some(usage);
        }
        self.said.ended |= event.ends;
        self.said.called |= event.calls;
        self.said.head = event.head.or(self.said.head.take());
        let chunk = match event.verdict {
            Verdict::Untouched => framed(&[json]),
            Verdict::Rewritten(events) => framed(&events),
            Verdict::Kept => return Ok(None),
            Verdict::Error(error) => {
                let told = reported(error.as_bytes(), self.tools, &self.ticket.target);
                return Err(self.fail(told, self.so_far()));
            }
            Verdict::Broken => {
                tracing::warn!(
                    upstream.model = self.ticket.target.model,
                    "an upstream model sent an event that is no chunk"
                );
                return Err(self.fail(AssistantError::UpstreamFailed, self.so_far()));
            }
        };
        self.ticket.meter.passed(&chunk, 1);
        Ok(Some(self.nulls.left_out(chunk)))
    }

    /// The end: the reason for it where the upstream owes one, usage for those
    /// who asked, and `[DONE]`.
    fn last_chunk(&mut self) -> Bytes {
        self.ticket.end = End::Completed;
        let mut events = Vec::new();
        if !self.said.ended {
            let reason = if self.said.called { "tool_calls" } else { "stop" };
            events.push(self.head().end(reason));
        }
        if self.usage == UsageChunks::Told {
            let told = self.told.take().map(|it| it.json);
            events.push(told.unwrap_or_else(|| self.estimated_usage()));
        }
        let mut last = BytesMut::from(self.nulls.left_out(framed(&events)));
        last.put_slice(DONE.as_bytes());
        last.freeze()
    }

    /// Ends the answer. Its upstream is let go at once, not when the caller
    /// has read the last chunk.
    fn fail(&mut self, err: AssistantError, cost: Cost) -> AssistantError {
        self.phase = Phase::Over;
        self.ticket.fail(cost);
        err
    }

    /// An upstream that reports an error before it has said anything bills
    /// nothing.
    fn so_far(&self) -> Cost {
        if self.ticket.meter.is_silent() { Cost::Nothing } else { Cost::Something }
    }

    fn estimated_usage(&mut self) -> String {
        let usage = chunk::usage_json(&self.ticket.used());
        self.head().usage(&usage)
    }

    /// What chunks of ours begin with: as the upstream's do, where it has said.
    fn head(&mut self) -> &Head {
        let ticket = &self.ticket;
        self.said.head.get_or_insert_with(|| {
            let id = format!("chatcmpl-{}", Uuid::now_v7().simple());
            let created = ticket.clock.now().micros().div_euclid(1_000_000);
            Head::new(&id, created, &ticket.target.model)
        })
    }
}

impl Stream for Answer {
    type Item = Bytes;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let this = self.get_mut();
        if let Some(first) = this.first.take() {
            this.heartbeat.spoke();
            return Poll::Ready(Some(first));
        }
        let chunk = match this.poll_chunk(cx) {
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Ready(Some(Ok(chunk))) => chunk,
            Poll::Ready(Some(Err(err))) => failure(&err),
            Poll::Pending => {
                ready!(this.heartbeat.poll(cx));
                KEEP_ALIVE
            }
        };
        this.heartbeat.spoke();
        Poll::Ready(Some(chunk))
    }
}

fn framed(events: &[impl AsRef<[u8]>]) -> Bytes {
    let length = events.iter().map(|it| it.as_ref().len() + 8).sum();
    let mut frames = BytesMut::with_capacity(length);
    for event in events {
        frames.put_slice(b"data: ");
        frames.put_slice(event.as_ref());
        frames.put_slice(b"\n\n");
    }
    frames.freeze()
}

fn failure(err: &AssistantError) -> Bytes {
    let (title, message) = (quoted(err.title()), quoted(&err.message()));
    Bytes::from(format!("data: {{\"error\":{title},\"message\":{message}}}\n\n{DONE}"))
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
