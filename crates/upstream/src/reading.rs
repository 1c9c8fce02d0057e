//! Reading of a streamed response.
//!
//! `poll_next` first returns the frames that are ready, then acts on the state, and only
//! then reads the next piece, which `Splitter` and `Translate` turn into frames. Timeouts:
//! silence while the response is open, a short one for usage after the finish reason,
//! and a very short one for the end of the body after `[DONE]`. Only the first is an
//! error.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use http_body::Body;
use pia_assistant::{Frame, UpstreamError};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::dialect::{Translate, TranslatedFrames};
use crate::splitter::Splitter;

/// Maximum time between `[DONE]` and the end of the body. After it the
/// connection is closed, and the next call needs a new one.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(50);
/// Maximum time between the finish reason and usage or `[DONE]`; some upstreams
/// send neither and keep the connection open.
const TRAILER_TIMEOUT: Duration = Duration::from_secs(5);

/// Stream of the frames of a body, which is read only on demand. Dropping it
/// closes the connection.
pub(crate) struct FrameStream {
    body: reqwest::Body,
    splitter: Splitter,
    translation: Option<Box<dyn Translate>>,
    /// Set if an event was sent to the caller.
    has_sent: bool,
    /// Set if a byte was received.
    has_received: bool,
    ready: VecDeque<Frame>,
    silence: ReadTimeout,
    timeouts: Timeouts,
    state: State,
}

/// Timeouts of a silent upstream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeouts {
    /// Maximum time without a byte.
    pub(crate) silence: Duration,
    /// Maximum time without an event: comments restart the other timeout only
    /// within this one.
    pub(crate) events: Duration,
}

enum State {
    Open,
    /// `[DONE]` was returned, and the end of the body is to follow.
    Closing,
    /// Error to return after the frames that are ready.
    Failing(UpstreamError),
    Over,
}

impl FrameStream {
    pub(crate) fn new(body: reqwest::Body, splitter: Splitter, timeouts: Timeouts) -> Self {
        let silence = ReadTimeout::new(timeouts.silence);
        Self {
            body,
            splitter,
            translation: None,
            has_sent: false,
            has_received: false,
            ready: VecDeque::new(),
            silence,
            timeouts,
            state: State::Open,
        }
    }

    /// Adds the translation of selected events into the common format.
    pub(crate) fn translated(self, translation: Option<Box<dyn Translate>>) -> Self {
        Self { translation, ..self }
    }

    fn read_piece(&mut self, piece: &Bytes) {
        let mut frames = VecDeque::new();
        let outcome = self.splitter.push(piece, &mut |frame| frames.push_back(frame));
        self.push_frames(frames);

        if let Err(err) = outcome
            && !matches!(self.state, State::Failing(_))
        {
            self.state = State::Failing(err);
        }

        if self.ready.iter().any(is_event) {
            self.silence.reset_by_event();
        } else {
            self.silence.reset_by_activity(self.timeouts.events);
        }
    }

    /// Adds the upstream's frames, translated into the common format.
    fn push_frames(&mut self, frames: VecDeque<Frame>) {
        let Some(translation) = &mut self.translation else {
            // Usually nothing else is ready, and the frames need not be moved
            // one by one.
            if self.ready.is_empty() {
                self.ready = frames;
            } else {
                self.ready.extend(frames);
            }
            return;
        };

        for frame in frames {
            let mut output = TranslatedFrames::default();
            match frame {
                Frame::Inspect(json) => translation.event(&json, !self.has_sent, &mut output),
                Frame::Done => translation.done(&mut output),
                unchanged => output.frames.push_back(unchanged),
            }

            self.has_sent |= output.frames.iter().any(is_event);
            self.ready.extend(output.frames);
            if let Some(err) = output.failure {
                self.state = State::Failing(err);
                return;
            }
        }
    }

    /// Returns whether only usage and `[DONE]` may still follow.
    fn is_finished(&self) -> bool {
        let translation_finished = self.translation.as_ref().and_then(|it| it.is_finished());
        translation_finished.unwrap_or_else(|| self.splitter.is_finished())
    }

    /// Handles a read timeout: the regular end after a finish reason, an error
    /// otherwise.
    fn handle_timeout(&mut self) {
        if self.is_finished() {
            self.finish();
        } else {
            self.state = State::Failing(UpstreamError::Silent);
        }
    }

    /// Handles the end of the body: regular if the response was complete.
    fn finish(&mut self) {
        let mut frames = VecDeque::new();
        let outcome = self.splitter.finish(&mut |frame| frames.push_back(frame));
        self.push_frames(frames);
        if matches!(self.state, State::Failing(_)) {
            return;
        }

        let translation_finished = self.translation.as_ref().and_then(|it| it.is_finished());
        self.state = match (translation_finished, outcome) {
            (Some(true), _) | (None, Ok(())) => State::Over,
            (Some(false), _) => State::Failing(UpstreamError::Cut),
            (None, Err(err)) => State::Failing(err),
        };
    }

    /// Waits briefly for the end of the body. Many servers send it apart from
    /// `[DONE]`, and a connection is reused only if it was read.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(_) => Poll::Ready(()),
            Poll::Pending => self.silence.poll(cx),
        }
    }
}

/// Returns the error for a connection that broke before the first byte of a
/// response.
pub(crate) fn connection_lost() -> UpstreamError {
    UpstreamError::Unreachable("the connection was lost before the answer began".to_owned())
}

/// Returns whether a frame is an event.
fn is_event(frame: &Frame) -> bool {
    !matches!(frame, Frame::Alive | Frame::Unreadable)
}

impl Stream for FrameStream {
    type Item = Result<Frame, UpstreamError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();

        loop {
            if let Some(frame) = this.ready.pop_front() {
                if frame == Frame::Done && matches!(this.state, State::Open) {
                    this.state = State::Closing;
                    this.silence = ReadTimeout::new(CLOSE_TIMEOUT);
                }
                return Poll::Ready(Some(Ok(frame)));
            }

            // An error is moved out and returned once; the stream is over then.
            match std::mem::replace(&mut this.state, State::Over) {
                State::Open => this.state = State::Open,
                State::Closing => {
                    this.state = State::Closing;
                    ready!(this.poll_close(cx));
                    this.state = State::Over;
                    return Poll::Ready(None);
                }
                State::Failing(err) => return Poll::Ready(Some(Err(err))),
                State::Over => return Poll::Ready(None),
            }

            match Pin::new(&mut this.body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    if let Ok(piece) = frame.into_data() {
                        this.has_received |= !piece.is_empty();
                        this.read_piece(&piece);
                    }
                    if this.is_finished() {
                        this.silence.shorten(TRAILER_TIMEOUT);
                    }
                }
                Poll::Ready(Some(Err(_))) if !this.has_received => {
                    this.state = State::Failing(connection_lost());
                }
                // A connection that breaks after the finish reason loses
                // nothing: the splitter decides.
                Poll::Ready(Some(Err(_)) | None) => this.finish(),
                Poll::Pending if this.silence.poll(cx).is_ready() => this.handle_timeout(),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

/// Timeout of the reader that counts only while a caller waits: a caller that
/// reads slowly does not make its upstream silent.
struct ReadTimeout {
    limit: Duration,
    since: Option<Instant>,
    /// Time of the first activity after the last event.
    event: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl ReadTimeout {
    fn new(limit: Duration) -> Self {
        Self { limit, since: None, event: None, timer: None }
    }

    fn reset_by_event(&mut self) {
        self.since = None;
        self.event = None;
    }

    /// Restarts the timeout after a comment or a partial event, unless the last event is older.
    fn reset_by_activity(&mut self, max_age: Duration) {
        if self.event.get_or_insert_with(Instant::now).elapsed() < max_age {
            self.since = None;
        } else {
            self.since.get_or_insert_with(Instant::now);
        }
    }

    fn shorten(&mut self, limit: Duration) {
        if limit < self.limit {
            self.limit = limit;
            self.timer = None;
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let due = *self.since.get_or_insert_with(Instant::now) + self.limit;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
        // The timer is reset only when it has expired: resetting it at every
        // piece would cost more than reading the piece.
        while timer.as_mut().poll(cx).is_ready() {
            if timer.deadline() >= due {
                return Poll::Ready(());
            }
            timer.as_mut().reset(due);
        }
        Poll::Pending
    }
}
