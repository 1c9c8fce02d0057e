//! Conversation with the server over one connection.
//!
//! ```text
//! Open ──Hello answered──► Ready ──stop──► Draining ──Drain answered──► Drained ──► close
//! ```
//!
//! Calls are served in every phase: the server may send one until it has answered
//! `Drain`. The connection closes once no call is in progress, and no new token is
//! awaited that would be lost with it (`renewal.rs`). One loop in `run` handles all
//! events, so that nothing is locked.

use std::future::pending;
use std::time::Duration;

use pia_signalr::{HubMessage, InvocationResult};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::backoff::Backoff;
use crate::calls::{CallEvent, CallProgress, Calls, FinishedCall};
use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::error::{ConnectionError, PodError};
use crate::messages::{CallRequest, HelloResponse, NewToken, RunSkillRequest, format_result};
use crate::pod::{Pod, Tools};
use crate::renewal::RETRY_DELAY;
use crate::work::{self, Work};

/// Ids of the pod's invocations.
const HELLO: &str = "hello";
const DRAIN: &str = "drain";
const ROTATE: &str = "rotate";

/// Time for the response to the request for another token.
const RENEWAL_TIMEOUT: Duration = Duration::from_secs(10);

/// Conversation of a pod.
pub(crate) struct Session<'a> {
    pod: &'a Pod,
    connection: Connection,
    calls: Calls,
    tools: watch::Receiver<Tools>,
    phase: Phase,
    /// True until the server has answered the last hello.
    is_introducing: bool,
    /// Time when the token is to be renewed.
    renew_at: Option<Instant>,
    /// Time until which the connection stays open for another token, which
    /// would be lost otherwise.
    renewing_until: Option<Instant>,
    /// True if later connections present another token than this one.
    has_new_token: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Server has not answered the hello.
    Open,
    /// Server has answered the hello; only now are tools announced again.
    Ready,
    /// Server has not answered that it sends no further calls.
    Draining,
    /// Calls in progress are the last ones.
    Drained,
}

impl<'a> Session<'a> {
    /// Creates the conversation over a connection that was just opened.
    pub(crate) fn new(pod: &'a Pod, connection: Connection) -> Self {
        Self {
            pod,
            connection,
            calls: Calls::new(pod.max_concurrent_calls()),
            tools: pod.subscribe(),
            phase: Phase::Open,
            is_introducing: false,
            renew_at: None,
            renewing_until: None,
            has_new_token: false,
        }
    }

    /// Says hello and serves calls until it is stopped.
    pub(crate) async fn run(
        mut self,
        stop: &CancellationToken,
        backoff: &mut Backoff,
    ) -> Result<(), ConnectionError> {
        self.introduce().await?;
        let mut next_ping = Instant::now() + self.pod.keep_alive();
        while !self.is_done() {
            let can_stop = matches!(self.phase, Phase::Open | Phase::Ready);
            let can_introduce = self.phase == Phase::Ready && !self.is_introducing;
            let renew_at = if can_introduce { self.renew_at } else { None };
            tokio::select! {
                message = self.connection.receive() => self.handle(message?, backoff).await?,
                event = self.calls.next() => self.send_event(event).await?,
                () = stop.cancelled(), if can_stop => self.drain().await?,
                Ok(()) = self.tools.changed(), if can_introduce => self.introduce().await?,
                () = sleep_until_some(renew_at) => self.renew().await?,
                () = sleep_until(next_ping) => {
                    self.connection.send(&HubMessage::Ping).await?;
                    next_ping = Instant::now() + self.pod.keep_alive();
                }
            }
        }

        self.connection.close().await
    }

    fn is_done(&self) -> bool {
        let is_renewing = self.renewing_until.is_some_and(|it| it > Instant::now());
        self.phase == Phase::Drained && self.calls.is_empty() && !is_renewing
    }

    /// Says hello with the tools that the pod has now.
    async fn introduce(&mut self) -> Result<(), ConnectionError> {
        self.tools.mark_unchanged();
        self.is_introducing = true;
        let description = serde_json::to_value(self.pod.describe()).unwrap_or_default();
        self.invoke(HELLO, "Hello", vec![description]).await
    }

    async fn handle(
        &mut self,
        message: HubMessage,
        backoff: &mut Backoff,
    ) -> Result<(), ConnectionError> {
        match message {
            HubMessage::Invocation { invocation_id: Some(id), target, mut arguments, .. } => {
                self.start_call(id, &target, arguments.pop()).await
            }
            HubMessage::Invocation { target, arguments, .. } if target == "Cancel" => {
                if let Some(call_id) = arguments.first().and_then(Value::as_str) {
                    self.calls.cancel(call_id);
                }
                Ok(())
            }
            HubMessage::Completion { invocation_id, result } if invocation_id == HELLO => {
                self.finish_introduction(result)?;
                backoff.reset();
                Ok(())
            }
            HubMessage::Completion { invocation_id, result } if invocation_id == ROTATE => {
                self.finish_renewal(result).await;
                Ok(())
            }
            HubMessage::Completion { invocation_id, .. } if invocation_id == DRAIN => {
                self.phase = Phase::Drained;
                Ok(())
            }
            HubMessage::Close { error, allow_reconnect } => {
                let reason = error.unwrap_or_else(|| "no reason was named".to_owned());
                Err(self.closing_error(reason, allow_reconnect))
            }
            _ => Ok(()),
        }
    }

    /// Returns the error of a connection that the server has closed.
    fn closing_error(&self, reason: String, allow_reconnect: bool) -> ConnectionError {
        if allow_reconnect {
            return ConnectionError::Closed(reason);
        }

        let error = PodError::closed(reason);
        // The end of this connection's token is not that of the next.
        if error.is_of_token() && self.has_new_token {
            return ConnectionError::Closed(error.to_string());
        }
        error.into()
    }

    /// Processes the response to the hello.
    fn finish_introduction(&mut self, result: InvocationResult) -> Result<(), PodError> {
        let response = result.and_then(|it| {
            serde_json::from_value::<HelloResponse>(it.unwrap_or_default())
                .map_err(|err| format!("its response is malformed: {err}"))
        });

        let HelloResponse { pod_id, connector_id, token_expires_at } =
            response.map_err(PodError::HelloRefused)?;
        tracing::info!(pod.id = pod_id, connector.id = connector_id, "the pod is connected");
        self.is_introducing = false;

        // After a renewal, the connection still has the previous token.
        if self.renew_at.is_none() {
            self.renew_at = token_expires_at.and_then(|it| self.pod.renewal().due(it));
        }

        if self.phase == Phase::Open {
            self.phase = Phase::Ready;
        }

        Ok(())
    }

    /// Requests another token, or stores the one that could not be stored. The steps of a
    /// renewal are in `renewal.rs`.
    async fn renew(&mut self) -> Result<(), ConnectionError> {
        self.renew_at = Some(Instant::now() + RETRY_DELAY);
        if let Some(token) = self.pod.renewal().unsaved() {
            self.store_token(token).await;
            return Ok(());
        }
        self.renewing_until = Some(Instant::now() + RENEWAL_TIMEOUT);
        self.invoke(ROTATE, "RotateToken", Vec::new()).await
    }

    /// Processes the response to the request for another token.
    async fn finish_renewal(&mut self, result: InvocationResult) {
        self.renewing_until = None;

        let token = result.and_then(|response| {
            // Errors of the parser are left out, since they would quote the token.
            serde_json::from_value::<NewToken>(response.unwrap_or_default())
                .ok()
                .filter(|it| Endpoint::accepts(&it.token))
                .ok_or_else(|| "the response is malformed".to_owned())
        });

        match token {
            Ok(token) => self.store_token(token).await,
            Err(error) => {
                tracing::warn!(error, retry_in = ?RETRY_DELAY, "the token is not renewed");
            }
        }
    }

    /// Stores a token, and uses it for later connections if that succeeds.
    async fn store_token(&mut self, new: NewToken) {
        if !self.pod.renewal().save(new.clone()).await {
            return;
        }
        self.renew_at = self.pod.renewal().due(new.expires_at);
        match self.pod.endpoint().set_token(&new.token) {
            Ok(()) => self.has_new_token = true,
            Err(error) => tracing::error!(%error, "the new token is not used"),
        }
    }

    async fn start_call(
        &mut self,
        invocation_id: String,
        target: &str,
        request: Option<Value>,
    ) -> Result<(), ConnectionError> {
        let work = match target {
            "Call" => work::parse::<CallRequest>(request).map(|request| {
                let tool = self.pod.tool(&request.tool);
                Work::call(request, tool)
            }),
            "RunSkill" => work::parse::<RunSkillRequest>(request).map(|request| {
                let skill = self.pod.skill(&request.skill);
                Work::run(request, skill)
            }),
            _ => Err(format!("the pod has no method {target}")),
        };

        match work {
            Ok(work) => {
                self.calls.start(invocation_id, work);
                Ok(())
            }
            Err(error) => self.complete(invocation_id, Err(error)).await,
        }
    }

    /// Sends the result of a call, or a report of its progress.
    async fn send_event(&mut self, event: CallEvent) -> Result<(), ConnectionError> {
        match event {
            CallEvent::Finished(FinishedCall { invocation_id, outcome, .. }) => {
                self.complete(invocation_id, Ok(Some(format_result(outcome)))).await
            }
            CallEvent::Progress(CallProgress { call_id, message }) => {
                let report = json!({ "callId": call_id, "message": message });
                self.send(None, "Progress", vec![report]).await
            }
        }
    }

    async fn drain(&mut self) -> Result<(), ConnectionError> {
        self.phase = Phase::Draining;
        self.invoke(DRAIN, "Drain", Vec::new()).await
    }

    async fn invoke(
        &mut self,
        id: &str,
        target: &str,
        arguments: Vec<Value>,
    ) -> Result<(), ConnectionError> {
        self.send(Some(id.to_owned()), target, arguments).await
    }

    async fn send(
        &mut self,
        invocation_id: Option<String>,
        target: &str,
        arguments: Vec<Value>,
    ) -> Result<(), ConnectionError> {
        let target = target.to_owned();
        let message =
            HubMessage::Invocation { invocation_id, target, arguments, stream_ids: Vec::new() };
        self.connection.send(&message).await
    }

    async fn complete(
        &mut self,
        invocation_id: String,
        result: InvocationResult,
    ) -> Result<(), ConnectionError> {
        self.connection.send(&HubMessage::Completion { invocation_id, result }).await
    }
}

/// Waits until a time, or forever if there is none.
async fn sleep_until_some(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    }
}
