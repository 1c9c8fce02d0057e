//! Session of a pod: its messages, and its registration.
//!
//! A pod sends `Hello` with its description. The session registers it in the
//! background, opens its link, and only then answers. A second `Hello` replaces
//! the description, `RotateToken` the token; `Drain`, an administrator or the
//! stop of the server end the calls to it, and `leave_if_done` closes the
//! connection after the last. The sentences of `leave_if_done` and `expel` are
//! part of the protocol: `error.rs` of `pod` compares them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pia_kernel::{SideEffects, Timestamp};
use pia_pods::{
    ConnectedPod, PodDescription, PodId, PodIdentity, PodRegistrationOutcome, RotatedToken,
};
use pia_signalr::{ClientInvocation, ExpectedReply, HubConnection, HubEvent, Reconnect};
use pia_web::ApiError;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use uuid::Uuid;

use crate::input::{HelloOutcome, Input, LinkInput};
use crate::messages::{DRAIN, HELLO, PROGRESS, ProgressReport, ROTATE_TOKEN};
use crate::open_calls::OpenCalls;
use crate::uplink::Uplink;

/// Time for which a registered pod counts as connected, unless it is extended.
pub const ALIVE: Duration = Duration::from_secs(8);

/// Time for a pod that drains itself to close the connection.
const SELF_DRAIN_TIMEOUT: Duration = Duration::from_mins(1);

/// Session of a pod.
pub(crate) struct PodSession {
    uplink: Uplink,
    identity: PodIdentity,
    id: PodId,
    connected_at: Timestamp,
    senders: PodSenders,
    /// Number of calls at once that the pod asked for.
    max_calls: u32,
    pub(crate) calls: OpenCalls,
    /// Description that was registered last, or is being registered.
    description: Option<PodDescription>,
    /// True while the token is being replaced.
    is_rotating: bool,
    /// True while a description is being registered.
    is_registering: bool,
    /// Time since which the pod takes no further calls.
    draining_since: Option<Instant>,
    /// Reason for which the pod is disconnected once its calls have ended.
    leaving: Option<Leaving>,
}

/// Senders to the task that owns the connection.
pub(crate) struct PodSenders {
    pub(crate) inputs: UnboundedSender<Input>,
    /// Sender of the link to the pod.
    pub(crate) link: UnboundedSender<LinkInput>,
}

/// Reason for which a pod is disconnected once its calls have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// Server stops: the pod may connect to another instance.
    ServerStops,
    /// An administrator wants the pod to end.
    Drained,
    /// Pod takes no further calls, but has not closed the connection.
    Finished,
}

impl PodSession {
    pub(crate) fn new(uplink: Uplink, identity: PodIdentity, senders: PodSenders) -> Self {
        let id = PodId(Uuid::now_v7());
        let connected_at = uplink.clock.now();
        Self {
            uplink,
            identity,
            id,
            connected_at,
            senders,
            max_calls: 1,
            calls: OpenCalls::default(),
            description: None,
            is_registering: false,
            draining_since: None,
            is_rotating: false,
            leaving: None,
        }
    }

    /// Responds to an event of the connection.
    pub(crate) fn handle(&mut self, connection: &mut HubConnection, event: HubEvent) {
        match event {
            HubEvent::Invoked(call) if call.target == PROGRESS => {
                self.on_progress(connection, call);
            }
            HubEvent::Invoked(call) => self.on_invocation(connection, call),
            HubEvent::Returned { invocation_id, result } => self.calls.end(&invocation_id, result),
            HubEvent::Canceled { invocation_id } => {
                connection.complete(&invocation_id, Ok(None)).ok();
            }
            HubEvent::Connected | HubEvent::StreamItem { .. } | HubEvent::StreamEnded { .. } => {}
        }
    }

    /// Answers the description of a pod once it was registered.
    pub(crate) fn registered(
        &mut self,
        connection: &mut HubConnection,
        invocation: Option<String>,
        outcome: HelloOutcome,
    ) {
        self.is_registering = false;

        let result = match outcome {
            HelloOutcome::Done(token_expires_at) => {
                self.uplink.links.open(self.id, &self.senders.link, self.max_calls);
                if self.draining_since.is_some() {
                    self.drain();
                }
                Ok(Some(json!({
                    "podId": self.id.0.to_string(),
                    "connectorId": self.identity.connector.to_string(),
                    "tokenExpiresAt": token_expires_at,
                })))
            }
            HelloOutcome::Expelled => return expel(connection),
            HelloOutcome::Failed => Err("The server is busy. Try again.".to_owned()),
        };

        if let Some(invocation) = invocation {
            connection.complete(&invocation, result).ok();
        }
    }

    /// Registers a pod again that the database has forgotten. The pod is disconnected
    /// if its token is no longer valid.
    pub(crate) fn register_again(&mut self) {
        if !self.is_registering
            && let Some(description) = self.description.clone()
        {
            self.register(None, description);
        }
    }

    /// Answers the request for another token.
    pub(crate) fn rotated(
        &mut self,
        connection: &mut HubConnection,
        invocation: &str,
        token: Option<RotatedToken>,
    ) {
        self.is_rotating = false;
        let result = match token {
            Some(RotatedToken { token, hash, expires_at }) => {
                self.identity.token = hash;
                Ok(Some(json!({ "token": token.reveal(), "expiresAt": expires_at })))
            }
            None => Err("The token could not be replaced. Try again later.".to_owned()),
        };
        connection.complete(invocation, result).ok();
    }

    /// Ends a pod that an administrator drains. A pod that drains itself first has time
    /// to close its connection.
    pub(crate) fn end_draining(&mut self, now: Instant) {
        match self.draining_since {
            None => self.leave(Leaving::Drained),
            Some(since) if now.duration_since(since) > SELF_DRAIN_TIMEOUT => {
                self.leave(Leaving::Finished);
            }
            Some(_) => {}
        }
    }

    /// Takes no further calls, and leaves once those in progress have ended.
    pub(crate) fn leave(&mut self, reason: Leaving) {
        if self.leaving.replace(reason).is_none() {
            self.drain();
        }
    }

    /// Closes the connection of a pod that is to leave once its calls have ended.
    pub(crate) fn leave_if_done(&self, connection: &mut HubConnection) {
        if !self.calls.is_empty() {
            return;
        }
        let Some(reason) = self.leaving else { return };

        let (message, reconnect) = match reason {
            Leaving::ServerStops => ("The server stops.", Reconnect::Allowed),
            Leaving::Drained => ("An administrator has ended this pod.", Reconnect::Denied),
            Leaving::Finished => ("This pod takes no further calls.", Reconnect::Allowed),
        };
        connection.close(Some(message.to_owned()), reconnect);
    }

    /// Ends the session: its calls are lost.
    pub(crate) fn end(self) {
        self.uplink.links.close(self.id);
        self.calls.lose();
        remove(&self.uplink, self.id);
    }

    fn on_invocation(&mut self, connection: &mut HubConnection, mut call: ClientInvocation) {
        let (ExpectedReply::Completion(id) | ExpectedReply::Stream(id)) = call.reply else {
            return;
        };

        let result = match call.target.as_str() {
            HELLO => match parse_description(call.arguments.pop()) {
                Ok(_) if self.is_registering => {
                    Err("The server has not answered another Hello yet.".to_owned())
                }
                Ok(description) => return self.register(Some(id), description),
                Err(refusal) => Err(refusal),
            },
            DRAIN => {
                self.drain();
                Ok(None)
            }
            ROTATE_TOKEN if self.is_rotating => {
                Err("The server has not answered another RotateToken yet.".to_owned())
            }
            ROTATE_TOKEN => return self.rotate_token(id),
            _ => Err("This hub has the methods Hello, Progress, Drain and RotateToken.".to_owned()),
        };
        connection.complete(&id, result).ok();
    }

    /// Passes on the progress of a call.
    fn on_progress(&self, connection: &mut HubConnection, mut report: ClientInvocation) {
        let result = ProgressReport::read(report.arguments.pop()).map(|report| {
            self.calls.report(report);
            None
        });
        // A report may expect no reply.
        if let ExpectedReply::Completion(id) | ExpectedReply::Stream(id) = report.reply {
            connection.complete(&id, result).ok();
        }
    }

    /// Registers the pod in the background, so that its other messages do not wait.
    fn register(&mut self, invocation: Option<String>, description: PodDescription) {
        self.max_calls = description.max_concurrent_calls;
        self.is_registering = true;
        self.description = Some(description.clone());
        let pod = self.connected_pod(description);
        let inputs = self.senders.inputs.clone();
        let uplink = self.uplink.clone();
        actix_web::rt::spawn(async move {
            let id = pod.id;
            let registry = Arc::clone(&uplink.registry);
            let now = uplink.clock.now();
            let registration = uplink.runner.run(async move { registry.put(pod, now).await }).await;
            let outcome = match registration {
                Ok(PodRegistrationOutcome::Done { token_expires_at }) => {
                    HelloOutcome::Done(token_expires_at)
                }
                Ok(PodRegistrationOutcome::TokenGone) => HelloOutcome::Expelled,
                Err(err) => registration_failed(&err),
            };

            uplink.connectors.granted.invalidate();

            if inputs.send(Input::Registered(invocation, outcome)).is_err() {
                // The session has ended meanwhile.
                remove(&uplink, id);
            }
        });
    }

    /// Replaces the token in the background.
    fn rotate_token(&mut self, invocation: String) {
        self.is_rotating = true;
        let pod = self.id;
        let identity = self.identity;
        let inputs = self.senders.inputs.clone();
        let connectors = self.uplink.connectors.clone();
        self.uplink.runner.spawn(async move {
            let outcome = connectors.rotate_token(pod, identity).await;
            if let Err(err) = &outcome {
                tracing::warn!(error = %err, "the token of a pod could not be replaced");
            }
            inputs.send(Input::Rotated(invocation, outcome.ok().map(Box::new))).ok();
        });
    }

    /// Takes no further calls, here and at other instances. What is being registered
    /// meanwhile is withdrawn afterwards.
    fn drain(&mut self) {
        self.draining_since.get_or_insert_with(Instant::now);
        self.uplink.links.drain(self.id);
        let id = self.id;
        let registry = Arc::clone(&self.uplink.registry);
        self.uplink.runner.spawn(async move {
            if let Err(err) = registry.drain(id, SideEffects::default()).await {
                tracing::warn!(error = %err, "the tools of a pod could not be withdrawn");
            }
        });
    }

    fn connected_pod(&self, description: PodDescription) -> ConnectedPod {
        ConnectedPod {
            id: self.id,
            connector: self.identity.connector,
            token: Some(self.identity.token),
            host: self.uplink.host.to_string(),
            description,
            connected_at: self.connected_at,
            alive_until: self.uplink.clock.now() + ALIVE,
            calls: 0,
            failures: 0,
            milliseconds: 0,
            is_draining: false,
        }
    }
}

/// Removes a pod in the background.
fn remove(uplink: &Uplink, pod: PodId) {
    let registry = Arc::clone(&uplink.registry);
    uplink.runner.spawn(async move {
        if let Err(err) = registry.remove(pod).await {
            tracing::warn!(error = %err, "a pod that is gone could not be removed");
        }
    });
}

/// Parses the argument of `Hello`.
fn parse_description(argument: Option<Value>) -> Result<PodDescription, String> {
    let argument = argument.ok_or("Hello has one argument, the description of the pod.")?;
    PodDescription::parse(argument).map_err(|err| err.to_string())
}

fn registration_failed(err: &ApiError) -> HelloOutcome {
    tracing::warn!(error = %err, "a pod could not be registered");
    HelloOutcome::Failed
}

fn expel(connection: &mut HubConnection) {
    connection.close(Some("The token is no longer valid.".to_owned()), Reconnect::Denied);
}
