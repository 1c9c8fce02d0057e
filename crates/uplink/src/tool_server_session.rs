//! Session with an MCP server, which is linked like a pod: listed in the
//! registry, and called by the same `LinkInput`.
//!
//! The session lists the tools, registers them, and lists them again when the server
//! announces others or was lost during a call. One loop in `step` handles all
//! events; `leave` lets calls in progress end first.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{ConnectorId, Unavailable};
use pia_pods::{
    ConnectedPod, PodDescription, PodId, PodRegistrationOutcome, PodTool, ToolCallError,
    ToolServer, ToolServerError,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::input::{LinkInput, PendingCall};
use crate::pod_session::ALIVE;
use crate::tool_servers::ToolServerHost;

/// Maximum number of calls of a server at once.
const MAX_CALLS: u32 = 16;
/// Minimum time between two readings of the list of tools.
const LIST_INTERVAL: Duration = Duration::from_secs(5);

/// Reason why a session ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionEnd {
    /// Connection was lost, or the server stops.
    #[error("the connection ended")]
    Closed,
    /// The connector of the server was deleted.
    #[error("the connector was deleted")]
    Deleted,
    /// Server does not list its tools.
    #[error(transparent)]
    Server(#[from] ToolServerError),
    /// Database did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Session with an MCP server.
pub(crate) struct ToolServerSession<'a> {
    host: &'a ToolServerHost,
    server: Arc<dyn ToolServer>,
    pod: ConnectedPod,
    link: UnboundedSender<LinkInput>,
    inputs: UnboundedReceiver<LinkInput>,
    /// Calls; each returns its id, and whether the server was lost.
    calls: JoinSet<(Uuid, bool)>,
    handles: HashMap<Uuid, AbortHandle>,
    /// Readings of the list of tools, one at most.
    lists: JoinSet<Result<Vec<PodTool>, ToolServerError>>,
    /// Reason for which the session ends once its calls have.
    end: Option<SessionEnd>,
}

impl<'a> ToolServerSession<'a> {
    pub(crate) fn new(
        host: &'a ToolServerHost,
        connector: ConnectorId,
        server: Arc<dyn ToolServer>,
    ) -> Self {
        let (link, inputs) = unbounded_channel();
        let connected_at = host.clock.now();
        let pod = ConnectedPod {
            id: PodId(Uuid::now_v7()),
            connector,
            token: None,
            host: host.machine.to_string(),
            description: PodDescription::of_server("MCP server", Vec::new(), MAX_CALLS),
            connected_at,
            alive_until: connected_at,
            calls: 0,
            failures: 0,
            milliseconds: 0,
            is_draining: false,
        };

        let calls = JoinSet::new();
        let handles = HashMap::new();
        let lists = JoinSet::new();

        Self { host, server, pod, link, inputs, calls, handles, lists, end: None }
    }

    /// Serves calls of the server's tools until the connection ends or `stop` is
    /// cancelled, and the calls in progress have ended.
    pub(crate) async fn run(mut self, stop: &CancellationToken) -> SessionEnd {
        self.list_tools(Duration::ZERO);

        let end = loop {
            if self.calls.is_empty()
                && let Some(end) = self.end.take()
            {
                break end;
            }
            self.step(stop).await;
        };

        self.host.links.close(self.pod.id);

        if let Err(err) = self.host.registry.remove(self.pod.id).await {
            tracing::warn!(error = %err, "an MCP server that is gone could not be removed");
        }

        end
    }

    async fn step(&mut self, stop: &CancellationToken) {
        let server = Arc::clone(&self.server);
        let is_open = self.end.is_none();
        let can_list = is_open && self.lists.is_empty();
        tokio::select! {
            Some(input) = self.inputs.recv() => self.handle(input).await,
            Some(Ok((id, is_lost))) = self.calls.join_next() => {
                self.handles.remove(&id);
                // Over HTTP, this is how the end of a connection shows.
                if is_lost && self.lists.is_empty() {
                    self.list_tools(Duration::ZERO);
                }
            }
            Some(Ok(tools)) = self.lists.join_next() => match tools {
                Ok(tools) => self.offer(tools).await,
                Err(err) => self.leave(err.into()),
            },
            () = server.tools_changed(), if can_list => self.list_tools(LIST_INTERVAL),
            () = server.closed(), if is_open => self.leave(SessionEnd::Closed),
            () = stop.cancelled(), if is_open => self.leave(SessionEnd::Closed),
        }
    }

    async fn handle(&mut self, input: LinkInput) {
        match input {
            LinkInput::Call(pending) => self.call(*pending),
            LinkInput::Cancel(id) => {
                if let Some(call) = self.handles.remove(&id) {
                    call.abort();
                }
            }
            LinkInput::Unregistered => self.register().await,
            // Only pods are drained.
            LinkInput::Draining => {}
        }
    }

    /// Reads the list of tools in the background, after a time.
    fn list_tools(&mut self, after: Duration) {
        let server = Arc::clone(&self.server);
        self.lists.spawn(async move {
            sleep(after).await;
            server.tools().await
        });
    }

    /// Offers these tools to callers, in place of those before.
    async fn offer(&mut self, tools: Vec<PodTool>) {
        let name = &self.pod.description.name;
        let description = PodDescription::of_server(name, tools, MAX_CALLS);
        if description != self.pod.description {
            self.pod.description = description;
            self.register().await;
        }
        if self.end.is_none() {
            self.host.links.open(self.pod.id, &self.link, MAX_CALLS);
        }
    }

    async fn register(&mut self) {
        let now = self.host.clock.now();
        self.pod.alive_until = now + ALIVE;
        let outcome = self.host.registry.put(self.pod.clone(), now).await;
        self.host.granted.invalidate();
        match outcome {
            Ok(PodRegistrationOutcome::Done { .. }) => {}
            Ok(PodRegistrationOutcome::TokenGone) => self.leave(SessionEnd::Deleted),
            Err(err) => self.leave(err.into()),
        }
    }

    /// Takes no further calls, and ends once those in progress have.
    fn leave(&mut self, end: SessionEnd) {
        self.host.links.drain(self.pod.id);
        self.end.get_or_insert(end);
    }

    fn call(&mut self, pending: PendingCall) {
        let PendingCall { id, call, reply, .. } = pending;
        let server = Arc::clone(&self.server);
        let limit = call.timeout;
        let task = self.calls.spawn(async move {
            let result =
                timeout(limit, server.call(call)).await.unwrap_or(Err(ToolCallError::TimedOut));
            let is_lost = result == Err(ToolCallError::Lost);
            // The caller may be gone.
            drop(reply.send(result));
            (id, is_lost)
        });
        self.handles.insert(id, task);
    }
}
