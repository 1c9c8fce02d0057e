//! Session of a pod: what it says, and the calls of its tools.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pia_kernel::Timestamp;
use pia_pods::{ConnectedPod, PodDescription, PodId, PodIdentity, PodReply, ToolCallError};
use pia_signalr::{
    ClientInvocation, ExpectedReply, HubConnection, HubEvent, InvocationResult, Reconnect,
};
use pia_web::ApiError;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::input::{Input, PendingCall, Registration};
use crate::messages::{CANCEL, DRAIN, HELLO, invocation, read_reply};
use crate::uplink::Uplink;

/// Time for which a pod is known to be connected, unless that is said again.
const ALIVE: Duration = Duration::from_secs(8);

/// Session of a pod.
pub(crate) struct PodSession {
    uplink: Uplink,
    identity: PodIdentity,
    id: PodId,
    connected_at: Timestamp,
    inputs: UnboundedSender<Input>,
    /// Number of calls at once that the pod asked for.
    max_calls: u32,
    /// Calls that wait for the pod, by the id of their invocation.
    calls: HashMap<String, OpenCall>,
    /// Description that was registered last, or is being registered.
    description: Option<PodDescription>,
    /// True while a description is being registered.
    is_registering: bool,
    /// True once the pod takes no further calls.
    is_draining: bool,
    /// True once the server stops.
    is_stopping: bool,
}

struct OpenCall {
    id: Uuid,
    reply: oneshot::Sender<Result<PodReply, ToolCallError>>,
    deadline: Instant,
}

impl PodSession {
    pub(crate) fn new(
        uplink: Uplink,
        identity: PodIdentity,
        inputs: UnboundedSender<Input>,
    ) -> Self {
        let (id, connected_at) = (PodId(Uuid::now_v7()), uplink.clock.now());
        Self {
            uplink,
            identity,
            id,
            connected_at,
            inputs,
            max_calls: 1,
            calls: HashMap::new(),
            description: None,
            is_registering: false,
            is_draining: false,
            is_stopping: false,
        }
    }

    /// Responds to an event of the connection.
    pub(crate) fn handle(&mut self, connection: &mut HubConnection, event: HubEvent) {
        match event {
            HubEvent::Invoked(call) => self.invoked(connection, call),
            HubEvent::Returned { invocation_id, result } => self.returned(&invocation_id, result),
            HubEvent::Canceled { invocation_id } => {
                connection.complete(&invocation_id, Ok(None)).ok();
            }
            HubEvent::Connected | HubEvent::StreamItem { .. } | HubEvent::StreamEnded { .. } => {}
        }
    }

    /// Calls the pod.
    pub(crate) fn call(&mut self, connection: &mut HubConnection, pending: PendingCall) {
        let PendingCall { id, call, reply } = pending;
        let deadline = Instant::now() + call.timeout;
        let (method, argument) = invocation(id, call);
        match connection.invoke(method, vec![argument]) {
            Ok(invocation) => {
                self.calls.insert(invocation, OpenCall { id, reply, deadline });
            }
            // The caller may be gone.
            Err(_not_open) => drop(reply.send(Err(ToolCallError::Lost))),
        }
    }

    /// Cancels a call whose caller is gone, unless it has ended.
    pub(crate) fn cancel(&mut self, connection: &mut HubConnection, id: Uuid) {
        for (invocation, call) in self.calls.extract_if(|_, it| it.id == id) {
            cancel(connection, &invocation, &call);
        }
    }

    /// Returns the time at which [`expire`](Self::expire) is to be called.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.calls.values().map(|it| it.deadline).min()
    }

    /// Ends the calls whose time is over.
    pub(crate) fn expire(&mut self, connection: &mut HubConnection, now: Instant) {
        for (invocation, call) in self.calls.extract_if(|_, it| it.deadline <= now) {
            cancel(connection, &invocation, &call);
            drop(call.reply.send(Err(ToolCallError::TimedOut)));
        }
    }

    /// Answers the description of a pod once it was registered.
    pub(crate) fn registered(
        &mut self,
        connection: &mut HubConnection,
        invocation: &str,
        outcome: Registration,
    ) {
        self.is_registering = false;
        let result = match outcome {
            Registration::Done => {
                self.uplink.links.open(self.id, &self.inputs, self.max_calls);
                if self.is_draining {
                    self.drain();
                }
                Ok(Some(json!({
                    "podId": self.id.0.to_string(),
                    "connectorId": self.identity.connector.to_string(),
                })))
            }
            Registration::Expelled => return expel(connection),
            Registration::Failed => Err("The server is busy. Try again.".to_owned()),
        };
        connection.complete(invocation, result).ok();
    }

    /// Takes no further calls, since the server stops.
    pub(crate) fn stop(&mut self) {
        self.is_stopping = true;
        self.drain();
    }

    /// Closes the connection once the server stops and the calls have ended.
    pub(crate) fn leave_if_done(&self, connection: &mut HubConnection) {
        if self.is_stopping && self.calls.is_empty() {
            connection.close(Some("The server stops.".to_owned()), Reconnect::Allowed);
        }
    }

    /// Ends the connection of a pod whose token is no longer valid.
    pub(crate) fn expel(connection: &mut HubConnection) {
        expel(connection);
    }

    /// Ends the session: its calls are lost.
    pub(crate) fn end(self) {
        self.uplink.links.close(self.id);
        for call in self.calls.into_values() {
            drop(call.reply.send(Err(ToolCallError::Lost)));
        }
        remove(&self.uplink, self.id);
    }

    fn invoked(&mut self, connection: &mut HubConnection, mut call: ClientInvocation) {
        let (ExpectedReply::Completion(id) | ExpectedReply::Stream(id)) = call.reply else {
            return;
        };
        let result = match call.target.as_str() {
            HELLO => match call.arguments.pop().map_or_else(|| Err(missing()), described) {
                Ok(_) if self.is_registering => {
                    Err("The server has not answered another Hello yet.".to_owned())
                }
                Ok(description) => return self.register(id, description),
                Err(refusal) => Err(refusal),
            },
            DRAIN => {
                self.drain();
                Ok(None)
            }
            _ => Err("This hub has the methods Hello and Drain.".to_owned()),
        };
        connection.complete(&id, result).ok();
    }

    fn returned(&mut self, invocation: &str, result: InvocationResult) {
        if let Some(call) = self.calls.remove(invocation) {
            // The caller may be gone.
            drop(call.reply.send(read_reply(result)));
        }
    }

    /// Registers the pod in the background, so that its other messages do not wait.
    fn register(&mut self, invocation: String, description: PodDescription) {
        self.max_calls = description.max_concurrent_calls;
        self.is_registering = true;
        self.description = Some(description.clone());
        let (pod, inputs, uplink) =
            (self.connected_pod(description), self.inputs.clone(), self.uplink.clone());
        actix_web::rt::spawn(async move {
            let (id, put) = (pod.id, Arc::clone(&uplink.registry));
            let outcome = match uplink.runner.run(async move { put.put(pod).await }).await {
                Ok(true) => Registration::Done,
                Ok(false) => Registration::Expelled,
                Err(err) => failed(&err),
            };
            if inputs.send(Input::Registered(invocation, outcome)).is_err() {
                // It has gone meanwhile.
                remove(&uplink, id);
            }
        });
    }

    /// Takes no further calls, here and at other instances, to which the pod offers
    /// nothing any more.
    fn drain(&mut self) {
        self.is_draining = true;
        self.uplink.links.drain(self.id);
        if self.is_registering {
            // Its tools are withdrawn once they are stored.
            return;
        }
        let Some(description) = self.description.take() else { return };
        let nothing = PodDescription { tools: Vec::new(), skills: Vec::new(), ..description };
        let (pod, registry) = (self.connected_pod(nothing), Arc::clone(&self.uplink.registry));
        self.uplink.runner.spawn(async move {
            if let Err(err) = registry.put(pod).await {
                tracing::warn!(error = %err, "the tools of a pod could not be withdrawn");
            }
        });
    }

    fn connected_pod(&self, description: PodDescription) -> ConnectedPod {
        ConnectedPod {
            id: self.id,
            connector: self.identity.connector,
            token: self.identity.token,
            host: self.uplink.host.to_string(),
            description,
            connected_at: self.connected_at,
            alive_until: self.uplink.clock.now() + ALIVE,
            calls: 0,
            failures: 0,
            milliseconds: 0,
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

fn described(argument: Value) -> Result<PodDescription, String> {
    PodDescription::parse(argument).map_err(|err| err.to_string())
}

fn missing() -> String {
    "Hello has one argument, the description of the pod.".to_owned()
}

fn failed(err: &ApiError) -> Registration {
    tracing::warn!(error = %err, "a pod could not be registered");
    Registration::Failed
}

fn cancel(connection: &mut HubConnection, invocation: &str, call: &OpenCall) {
    connection.forget(invocation);
    connection.send(CANCEL, vec![json!(call.id.to_string())]).ok();
}

fn expel(connection: &mut HubConnection) {
    connection.close(Some("The token is no longer valid.".to_owned()), Reconnect::Denied);
}
