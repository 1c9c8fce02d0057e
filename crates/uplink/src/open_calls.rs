//! Calls that wait for a pod.
//!
//! A call begins by `begin` and ends in one of five ways: the pod is busy, it
//! returns (`end`), the caller goes away (`cancel`), the time is over (`expire`),
//! or the connection is lost (`lose`). The owner calls `expire` at `deadline`.

use std::collections::HashMap;
use std::time::Instant;

use pia_pods::{PodReply, ProgressSink, ToolCallError};
use pia_signalr::{HubConnection, InvocationResult};
use serde_json::json;
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::input::PendingCall;
use crate::messages::{CANCEL, ProgressReport, invocation, read_reply};

/// Size of messages that wait for the pod, beyond which it gets no further calls.
const MAX_BUFFERED_BYTES: usize = 2 * 1024 * 1024;

/// Calls that wait for a pod, by the id of their invocation.
#[derive(Default)]
pub(crate) struct OpenCalls(HashMap<String, OpenCall>);

struct OpenCall {
    id: Uuid,
    progress: ProgressSink,
    reply: oneshot::Sender<Result<PodReply, ToolCallError>>,
    deadline: Instant,
}

impl OpenCalls {
    /// Sends a call to the pod. A pod that does not read is reported as busy.
    pub(crate) fn begin(&mut self, connection: &mut HubConnection, pending: PendingCall) {
        let PendingCall { id, call, progress, reply } = pending;
        if connection.buffered_bytes() > MAX_BUFFERED_BYTES {
            // The pod does not read, or has not acknowledged what it read. The caller
            // may be gone.
            return drop(reply.send(Err(ToolCallError::Busy)));
        }

        let deadline = Instant::now() + call.timeout;
        let (method, argument) = invocation(id, call);
        match connection.invoke(method, vec![argument]) {
            Ok(invocation) => {
                self.0.insert(invocation, OpenCall { id, progress, reply, deadline });
            }
            // The caller may be gone.
            Err(_not_sent) => drop(reply.send(Err(ToolCallError::Busy))),
        }
    }

    /// Cancels a call whose caller is gone, unless the call has ended.
    pub(crate) fn cancel(&mut self, connection: &mut HubConnection, id: Uuid) {
        for (invocation, call) in self.0.extract_if(|_, it| it.id == id) {
            cancel(connection, &invocation, &call);
        }
    }

    /// Returns the time when [`expire`](Self::expire) is to be called.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.0.values().map(|it| it.deadline).min()
    }

    /// Ends the calls whose time is over.
    pub(crate) fn expire(&mut self, connection: &mut HubConnection, now: Instant) {
        for (invocation, call) in self.0.extract_if(|_, it| it.deadline <= now) {
            cancel(connection, &invocation, &call);
            drop(call.reply.send(Err(ToolCallError::TimedOut)));
        }
    }

    /// Passes on the progress of a call, unless the call has ended.
    pub(crate) fn report(&self, report: ProgressReport) {
        if let Some(call) = self.0.values().find(|it| it.id == report.call_id) {
            call.progress.report(report.into_text());
        }
    }

    /// Ends a call with the result of its invocation.
    pub(crate) fn end(&mut self, invocation: &str, result: InvocationResult) {
        if let Some(call) = self.0.remove(invocation) {
            // The caller may be gone.
            drop(call.reply.send(read_reply(result)));
        }
    }

    /// Ends all calls as lost.
    pub(crate) fn lose(self) {
        for call in self.0.into_values() {
            drop(call.reply.send(Err(ToolCallError::Lost)));
        }
    }

    /// Returns whether no call waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn cancel(connection: &mut HubConnection, invocation: &str, call: &OpenCall) {
    connection.forget(invocation);
    connection.send(CANCEL, vec![json!(call.id.to_string())]).ok();
}
