//! Streams for callers.
//!
//! A stream is `Opening` until an upstream has started, then `Streaming`, and after tool
//! calls of the server `Opening` again; `Ending` only reads the connection to its end.
//! Frames to forward are metered and passed on. An event to inspect is repaired
//! (`normalize.rs`), loses its server calls (`tools/calls.rs`) and repeated roles
//! (`merge.rs`), and is parsed (`chunk.rs`). `closing.rs` ends a call. Begin with
//! `poll_chunk`.

mod closing;

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use pia_json::NullStripper;
use pia_kernel::Clock;

use crate::credits::metered_call::{Billable, MeteredCall};
use crate::credits::usage::Usage;
use crate::error::AssistantError;
use crate::gateway::Gateway;
use crate::guardrail;
use crate::ports::{Frame, Frames, Timer, TimerFuture, UpstreamError};
use crate::request::surface::Surface;
use crate::routing::refusal::{Tools, explain_failure, explain_stream_error};
use crate::stream::chunk::{self, EventAction, UsageChunk};
use crate::stream::heartbeat::Heartbeat;
use crate::stream::normalize::{self, NormalizeAction};
use crate::stream::opened::{OpenedStream, OpeningStream, open};
use crate::stream::sse::{failure, to_frames};
use crate::stream::state::StreamState;
use crate::tools::calls::{CallerPart, ToolCallCollector};
use crate::turn::Turn;

const KEEP_ALIVE: Bytes = Bytes::from_static(b": keep-alive\n\n");

/// Presence of usage in the caller's stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UsageChunks {
    Included,
    Omitted,
}

/// Bytes of an event stream: lines of `data: ` with one object each, always
/// ended by `data: [DONE]`.
///
/// The upstream is read only when this is polled. A failure becomes a last
/// chunk, `{"error": …, "message": …}`, so the stream itself never fails.
/// Comments keep it alive while the upstream is silent, or while the server
/// runs tools for the model, which the caller does not see. Dropping it ends
/// the call upstream and records its usage.
#[must_use = "an answer that is not read ends its call"]
pub struct ChatStream {
    phase: Phase,
    first: Option<Bytes>,
    protected: bool,
    surface: Surface,
    tools: Tools,
    usage: UsageChunks,
    nulls: NullStripper,
    last_usage: Option<UsageChunk>,
    stream_state: StreamState,
    calls: ToolCallCollector,
    /// Usage of the turn's earlier calls.
    previous_usage: Usage,
    response_started: Arc<AtomicBool>,
    stop: TimerFuture,
    heartbeat: Heartbeat,
    timer: Arc<dyn Timer>,
    clock: Arc<dyn Clock>,
}

enum Phase {
    Opening(OpeningStream),
    Streaming(Box<OpenedStream>),
    /// Last chunk was sent; the end of the frames is awaited.
    Ending(Frames),
    Over,
}

impl ChatStream {
    pub(crate) fn new(turn: Turn, gateway: &Gateway, heartbeat: Duration, protected: bool) -> Self {
        let timer = Arc::clone(&gateway.timer);
        Self {
            response_started: turn.start_flag(),
            surface: turn.surface(),
            phase: Phase::Opening(Box::pin(open(Box::new(turn)))),
            first: None,
            protected,
            tools: Tools::None,
            usage: UsageChunks::Omitted,
            nulls: NullStripper::default(),
            last_usage: None,
            stream_state: StreamState::default(),
            calls: ToolCallCollector::default(),
            previous_usage: Usage::default(),
            stop: timer.stop(),
            heartbeat: Heartbeat::new(Arc::clone(&timer), heartbeat),
            timer,
            clock: Arc::clone(&gateway.clock),
        }
    }

    pub(crate) fn with_tools(self, tools: Tools) -> Self {
        Self { tools, ..self }
    }

    pub(crate) fn with_usage(self, usage: UsageChunks) -> Self {
        Self { usage, ..self }
    }

    /// Waits for the first event, or for `at_latest`. A failure until then is
    /// returned as an error with its own status; a later one ends the stream.
    pub(crate) async fn wait_for_start(
        mut self,
        at_latest: Duration,
    ) -> Result<Self, AssistantError> {
        let mut deadline = self.timer.pause(at_latest);
        let first_chunk = poll_fn(|cx| match self.poll_chunk(cx) {
            Poll::Ready(first_chunk) => Poll::Ready(first_chunk),
            Poll::Pending => deadline.as_mut().poll(cx).map(|()| None),
        })
        .await
        .transpose()?;
        // From now on a failure ends the stream, and no other model is called.
        self.response_started.store(true, Ordering::Relaxed);

        self.first = match first_chunk {
            Some(first_chunk) if self.protected => {
                Some(Bytes::from([guardrail::CHUNK.as_ref(), &first_chunk].concat()))
            }
            None if self.protected => Some(guardrail::CHUNK),
            first_chunk => first_chunk,
        };

        Ok(self)
    }

    /// Returns the next chunk, or `None` after the end.
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, AssistantError>>> {
        if let Phase::Ending(frames) = &mut self.phase {
            ready!(poll_end(frames, cx));
            self.phase = Phase::Over;
        }

        if matches!(self.phase, Phase::Over) {
            return Poll::Ready(None);
        }
        if self.stop.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Some(
                Err(self.fail(AssistantError::Stopping, Billable::Something)),
            ));
        }

        loop {
            match &mut self.phase {
                Phase::Opening(opening) => match ready!(opening.as_mut().poll(cx)) {
                    Ok(opened) => {
                        self.previous_usage = opened.previous_usage;
                        self.phase = Phase::Streaming(Box::new(opened));
                    }
                    Err(err) => {
                        self.phase = Phase::Over;
                        return Poll::Ready(Some(Err(err)));
                    }
                },
                Phase::Streaming(opened) => {
                    let frame = match opened.first.take() {
                        Some(first_frame) => Ok(Some(first_frame)),
                        None => ready!(opened.frames.as_mut().poll_next(cx)).transpose(),
                    };
                    if let Some(chunk) = self.chunk(frame).transpose() {
                        return Poll::Ready(Some(chunk));
                    }
                }
                Phase::Ending(_) | Phase::Over => return Poll::Ready(None),
            }
        }
    }

    /// Converts a frame to a chunk for the caller, or `None` if the frame is
    /// only for the server.
    fn chunk(
        &mut self,
        frame: Result<Option<Frame>, UpstreamError>,
    ) -> Result<Option<Bytes>, AssistantError> {
        let Phase::Streaming(opened) = &mut self.phase else { return Ok(None) };

        match frame {
            Ok(Some(Frame::Forward { bytes, events })) => {
                // Frames are searched only up to the first delta.
                let may_be_first_delta = !self.stream_state.has_deltas || !opened.answers;
                if may_be_first_delta && normalize::has_delta(&bytes) {
                    self.stream_state.has_deltas = true;
                    self.stream_state.set_head_of(&bytes);
                    opened.answers = true;
                }
                Ok(Some(self.forward(bytes, events)))
            }
            Ok(Some(Frame::Inspect(json))) => self.inspect_event(&json),
            Ok(Some(Frame::Alive)) => Ok(None),
            Ok(Some(Frame::Unreadable)) => {
                opened.unreadable = true;
                Ok(None)
            }
            Ok(Some(Frame::Done)) => self.finish_call(true),
            Ok(None) => self.finish_call(false),
            Err(err) => {
                let error = explain_failure(&err, self.tools, &opened.metered_call.target);
                Err(self.fail(error, Billable::after_failure(&err)))
            }
        }
    }

    /// Handles an event that must be parsed. It counts as one token if the upstream
    /// reports no usage.
    fn inspect_event(&mut self, json: &Bytes) -> Result<Option<Bytes>, AssistantError> {
        let Some(normalized_json) = self.normalize(json) else { return Ok(None) };
        let caller_json = self.remove_server_calls(normalized_json);
        if self.stream_state.call_indices.exceeds_limit() || self.calls.exceeds_limit() {
            return Err(self.fail_invalid("it has too many tool calls"));
        }

        let Some(caller_json) = caller_json else { return Ok(None) };
        let deduplicated_json = self.stream_state.roles.without_repeated_roles(&caller_json);
        let event_json = deduplicated_json.unwrap_or(caller_json);
        let event = chunk::parse(&event_json);

        let Phase::Streaming(opened) = &mut self.phase else { return Ok(None) };
        let reported_usage = event.usage.as_ref().map(|it| it.usage);
        if let Some(usage) = event.usage {
            self.last_usage = Some(usage);
        }
        opened.answers |= event.has_choices;
        self.stream_state.has_ended |= event.has_finish_reason;
        self.stream_state.has_called_tools |= event.has_tool_calls;
        self.stream_state.set_head(event.head);

        let metered_call = &opened.metered_call;
        let chunk = match event.action {
            EventAction::Unchanged => Some(self.forward(to_frames(&[event_json]), 1)),
            EventAction::Rewritten(events) => Some(self.forward(to_frames(&events), 1)),
            EventAction::Dropped => None,
            EventAction::Error(error) => {
                let err = explain_stream_error(error.as_bytes(), self.tools, &metered_call.target);
                let cost = billable(metered_call);
                return Err(self.fail(err, cost));
            }
            EventAction::Invalid => return Err(self.fail_invalid("it is not a chunk")),
        };

        // A report includes the text of its own event.
        if let (Some(usage), Phase::Streaming(opened)) = (reported_usage, &mut self.phase) {
            opened.metered_call.meter.report(usage);
        }

        Ok(chunk)
    }

    /// Ends the response because of an event that no caller can read.
    fn fail_invalid(&mut self, reason: &'static str) -> AssistantError {
        let Phase::Streaming(opened) = &self.phase else { return AssistantError::UpstreamFailed };
        let metered_call = &opened.metered_call;
        tracing::warn!(
            upstream.model = metered_call.target.model,
            reason,
            "upstream stream event is invalid"
        );
        let cost = billable(metered_call);
        self.fail(AssistantError::UpstreamFailed, cost)
    }

    /// Returns an event in a form that callers accept, or `None` if it has no content left.
    fn normalize(&mut self, json: &Bytes) -> Option<Bytes> {
        let state = &mut self.stream_state;
        match normalize::normalize_event(json, state.has_deltas, &mut state.call_indices) {
            NormalizeAction::Unchanged => {
                self.stream_state.has_deltas |= normalize::has_delta(json);
                Some(json.clone())
            }
            NormalizeAction::Repaired(repaired_json) => Some(repaired_json),
            NormalizeAction::Dropped => None,
        }
    }

    /// Collects the calls of server tools in an event, which are run here. Returns the event
    /// without them, or `None` if nothing else was in it.
    fn remove_server_calls(&mut self, json: Bytes) -> Option<Bytes> {
        let Phase::Streaming(opened) = &mut self.phase else { return None };
        let Some(turn) = &opened.turn else { return Some(json) };

        let caller_part = self.calls.extract(&json, &|name| turn.is_server_tool(name));
        match caller_part {
            CallerPart::All => Some(json),
            CallerPart::Part(caller_json) => Some(caller_json),
            CallerPart::Nothing => {
                opened.answers = true;
                opened.metered_call.meter.count_chunks(&json, 1);
                self.stream_state.set_head(chunk::parse(&json).head);
                None
            }
        }
    }

    /// Meters frames and returns them in the form for the caller.
    fn forward(&mut self, frames: Bytes, events: u32) -> Bytes {
        if let Phase::Streaming(opened) = &mut self.phase {
            opened.metered_call.meter.count_chunks(&frames, events);
            // The model may still call a tool, and then needs its text so far.
            if opened.turn.is_some() {
                self.calls.record_frames(&frames);
            }
        }
        self.nulls.strip(self.stream_state.unify_heads(frames))
    }
}

/// Reads frames to their end, so that the connection can be reused.
fn poll_end(frames: &mut Frames, cx: &mut Context<'_>) -> Poll<()> {
    loop {
        if ready!(frames.as_mut().poll_next(cx)).is_none() {
            return Poll::Ready(());
        }
    }
}

/// Returns whether a failed call may be billed: only if it had output.
fn billable(metered_call: &MeteredCall) -> Billable {
    if metered_call.meter.is_empty() { Billable::Nothing } else { Billable::Something }
}

impl Stream for ChatStream {
    type Item = Bytes;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let this = self.get_mut();
        if let Some(first) = this.first.take() {
            this.heartbeat.reset();
            return Poll::Ready(Some(first));
        }

        let chunk = match this.poll_chunk(cx) {
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Ready(Some(Ok(chunk))) => chunk,
            Poll::Ready(Some(Err(err))) => failure(&err, this.surface),
            Poll::Pending => {
                ready!(this.heartbeat.poll(cx));
                KEEP_ALIVE
            }
        };

        this.heartbeat.reset();

        Poll::Ready(Some(chunk))
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
