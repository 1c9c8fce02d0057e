//! MCP servers of connectors, to which each instance connects itself: no call of
//! them needs another instance.
//!
//! Every three seconds the list of connectors is read again; each has a task that
//! connects, serves a session, and waits longer after each failure.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock, ConnectorId};
use pia_pods::{ConnectorStore, GrantedPods, McpEndpoint, PodRegistry, ToolServers};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::links::LocalLinks;
use crate::tool_server_session::ToolServerSession;

/// Interval of looking for connectors that were created or deleted.
const UPDATE_INTERVAL: Duration = Duration::from_secs(3);
/// Time until a lost connection is opened again, at first; then twice as long each
/// time.
const FIRST_DELAY: Duration = Duration::from_secs(1);
/// Time for calls in progress when the server stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time until a lost connection is opened again.
const MAX_DELAY: Duration = Duration::from_mins(1);

/// Host of the connections with MCP servers.
#[derive(Clone)]
pub struct ToolServerHost {
    /// Store of the connectors that name servers.
    pub store: Arc<dyn ConnectorStore>,
    /// Registry of connected pods, where the servers are listed too.
    pub registry: Arc<dyn PodRegistry>,
    /// Pods that groups may use.
    pub granted: GrantedPods,
    /// Links to the pods of this instance.
    pub links: Arc<LocalLinks>,
    /// Connections with servers.
    pub servers: Arc<dyn ToolServers>,
    /// Name of this machine.
    pub machine: Arc<str>,
    /// Clock of the times that the registry of pods records.
    pub clock: Arc<dyn Clock>,
}

impl ToolServerHost {
    /// Keeps a connection with the server of each connector, until stopped.
    pub async fn run(self, stop: CancellationToken) {
        let mut tasks = JoinSet::new();
        let mut connected: HashMap<ConnectorId, CancellationToken> = HashMap::new();
        let mut is_logged = false;
        loop {
            match self.store.mcp_servers().await {
                Ok(endpoints) => {
                    is_logged = false;
                    self.update(endpoints, &mut connected, &mut tasks, &stop);
                }
                Err(err) if !is_logged => {
                    is_logged = true;
                    tracing::warn!(error = %err, "the MCP servers of connectors could not be read");
                }
                Err(_logged) => {}
            }

            while tasks.try_join_next().is_some() {}
            if stop.run_until_cancelled(sleep(UPDATE_INTERVAL)).await.is_none() {
                break;
            }
        }

        // The server is not delayed by one that does not respond.
        drop(timeout(STOP_TIMEOUT, tasks.join_all()).await);
    }

    /// Ends the connections of connectors that were deleted, and starts those of new
    /// ones.
    fn update(
        &self,
        endpoints: Vec<(ConnectorId, McpEndpoint)>,
        connected: &mut HashMap<ConnectorId, CancellationToken>,
        tasks: &mut JoinSet<()>,
        stop: &CancellationToken,
    ) {
        let ids: Vec<ConnectorId> = endpoints.iter().map(|(id, _)| *id).collect();
        for (_, connection_stop) in connected.extract_if(|id, _| !ids.contains(id)) {
            connection_stop.cancel();
        }

        for (id, endpoint) in endpoints {
            connected.entry(id).or_insert_with(|| {
                let host = self.clone();
                let connection_stop = stop.child_token();
                let stop = connection_stop.clone();
                tasks.spawn(async move { host.keep_connected(id, endpoint, &stop).await });
                connection_stop
            });
        }
    }

    /// Connects with a server again and again, until stopped.
    async fn keep_connected(
        &self,
        connector: ConnectorId,
        endpoint: McpEndpoint,
        stop: &CancellationToken,
    ) {
        let mut delay = FIRST_DELAY;
        let mut last_error = String::new();
        loop {
            let connecting = stop.run_until_cancelled(self.servers.connect(&endpoint));
            let Some(connection) = connecting.await else { return };

            let error = match connection {
                Ok(server) => {
                    let started_at = self.clock.now();
                    let session = ToolServerSession::new(self, connector, server.into());
                    let end = session.run(stop).await;
                    if started_at + MAX_DELAY < self.clock.now() {
                        delay = FIRST_DELAY;
                    }
                    end.to_string()
                }
                Err(err) => err.to_string(),
            };

            if stop.is_cancelled() {
                return;
            }

            // Each reason is logged once.
            if error != last_error {
                tracing::warn!(%connector, error, "no connection with the MCP server");
                last_error = error;
            }

            if stop.run_until_cancelled(sleep(delay)).await.is_none() {
                return;
            }

            delay = (delay * 2).min(MAX_DELAY);
        }
    }
}
