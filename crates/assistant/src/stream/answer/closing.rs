//! End of a call, and of its response.
//!
//! A call ends in one of three ways: its model has called only tools of the server, which
//! are run before the next call; it had nothing that a caller could read, which is a
//! failure; or the response is complete.

use std::mem;

use bytes::{BufMut, Bytes, BytesMut};
use uuid::Uuid;

use super::{ChatStream, Phase, UsageChunks, billable};
use crate::credits::metered_call::{Billable, CallEnd, MeteredCall};
use crate::credits::usage::Usage;
use crate::error::AssistantError;
use crate::stream::call_indices::CallIndices;
use crate::stream::chunk;
use crate::stream::chunk_head::ChunkHead;
use crate::stream::opened::{OpenedStream, open};
use crate::stream::sse::{DONE, to_frames};

impl ChatStream {
    /// Ends one call, and the response unless its model has called tools of the
    /// server. A call without a readable part of a response has failed.
    pub(super) fn finish_call(
        &mut self,
        has_more_frames: bool,
    ) -> Result<Option<Bytes>, AssistantError> {
        let Phase::Streaming(opened) = mem::replace(&mut self.phase, Phase::Over) else {
            return Ok(None);
        };

        // Unreadable events may have had the text that is missing.
        let is_lost = opened.unreadable
            && opened.metered_call.meter.has_no_text()
            && !self.stream_state.has_called_tools;
        let OpenedStream { frames, mut metered_call, turn, answers, .. } = *opened;
        match turn {
            Some(mut turn) if self.calls.only_server_calls() && turn.has_rounds_left() => {
                turn.settle(metered_call);
                self.last_usage = None;
                self.stream_state.calls_before += 1;
                self.stream_state.call_indices = CallIndices::default();
                let (calls, text) = mem::take(&mut self.calls).finish();
                self.phase = Phase::Opening(Box::pin(async move {
                    turn.serve(calls, &text).await;
                    open(turn).await
                }));

                Ok(None)
            }
            _ if !answers || is_lost => {
                tracing::warn!(
                    upstream.model = metered_call.target.model,
                    "upstream stream could not be parsed"
                );
                let cost = billable(&metered_call);
                metered_call.fail(cost);
                Err(AssistantError::UpstreamFailed)
            }
            _ => {
                metered_call.end = CallEnd::Completed;
                let last_chunk = self.last_chunk(&metered_call);
                if has_more_frames {
                    self.phase = Phase::Ending(frames);
                }
                Ok(Some(last_chunk))
            }
        }
    }

    /// Returns the last chunk: a finish reason if the upstream has sent none,
    /// usage if requested, and `[DONE]`.
    fn last_chunk(&mut self, metered_call: &MeteredCall) -> Bytes {
        let mut events = Vec::new();
        if !self.stream_state.has_ended {
            let reason = if self.stream_state.has_called_tools { "tool_calls" } else { "stop" };
            events.push(self.head(metered_call).end(reason));
        }

        if self.usage == UsageChunks::Included {
            let is_total = self.previous_usage == Usage::default()
                && !metered_call.meter.has_unreported_text();
            let usage = match self.last_usage.take() {
                Some(chunk) if is_total => chunk.json,
                _ => self.total_usage(metered_call),
            };
            events.push(usage);
        }

        let mut frames = BytesMut::from(self.nulls.strip(to_frames(&events)));
        frames.put_slice(DONE.as_bytes());

        frames.freeze()
    }

    /// Ends the response. Its upstream call ends at once, not when the caller
    /// has read the last chunk.
    pub(super) fn fail(&mut self, err: AssistantError, cost: Billable) -> AssistantError {
        if let Phase::Streaming(mut opened) = mem::replace(&mut self.phase, Phase::Over) {
            opened.metered_call.fail(cost);
        }
        err
    }

    fn total_usage(&mut self, metered_call: &MeteredCall) -> String {
        let usage = chunk::usage_json(&self.previous_usage.plus(&metered_call.usage()));
        self.head(metered_call).usage(&usage)
    }

    /// Returns the first members of our own chunks: those of the upstream, if
    /// it has sent any.
    fn head(&mut self, metered_call: &MeteredCall) -> &ChunkHead {
        let clock = &self.clock;
        self.stream_state.head.get_or_insert_with(|| {
            let id = format!("chatcmpl-{}", Uuid::now_v7().simple());
            let created = clock.now().micros().div_euclid(1_000_000);
            ChunkHead::new(&id, created, &metered_call.target.model)
        })
    }
}
