//! Instance of the server that serves pods alone.
//!
//! It has the server's own uplink, registry, links and relay, and two routes
//! that only the benchmark needs: what a call costs is compared with `/echo`, and
//! a call from another instance with `/direct`.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use actix_web::web::{Data, Json, Payload, get, post};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, rt};
use actix_ws::AggregatedMessage;
use async_trait::async_trait;
use pia_kernel::{Clock, Secret, SystemClock};
use pia_pod::{CallContext, Pod, Tool, ToolDescription};
use pia_pods::{
    Connectors, GrantedPods, NoToolServers, PodCall, PodId, PodLink, PodRegistry, ProgressSink,
    ToolPlane,
};
use pia_storage::{Database, DatabaseKind};
use pia_storage_pods::{PodRelay, SqlConnectors, SqlPodRegistry};
use pia_uplink::{ALIVE, Connections, LocalLinks, Uplink};
use pia_web::{RouteTable, Runner};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::failure::Outcome;

/// Interval at which connected pods are reported to the registry, well below
/// [`ALIVE`].
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(2);
/// Number of calls that the pod takes at once.
pub(super) const MAX_CONCURRENT_CALLS: usize = 16;

/// Instance of the server that serves pods alone.
pub(super) struct Instance {
    pub(super) address: SocketAddr,
    pub(super) plane: ToolPlane,
    pub(super) granted: GrantedPods,
    /// Tasks that record calls.
    records: TaskTracker,
    _tasks: JoinSet<()>,
}

impl Instance {
    pub(super) fn start(runtime: &Runtime, db: &Database) -> Outcome<Self> {
        let _entered = runtime.enter();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let records = TaskTracker::new();
        let registry: Arc<dyn PodRegistry> =
            Arc::new(SqlPodRegistry::new(db.clone(), records.clone()));
        let links = Arc::<LocalLinks>::default();
        let local: Arc<dyn PodLink> = Arc::<LocalLinks>::clone(&links);
        let mut tasks = JoinSet::new();
        tasks.spawn(keep_alive(Arc::clone(&registry), Arc::clone(&local)));

        let link = pod_link(db, local, Arc::clone(&clock), &mut tasks);
        let granted = GrantedPods::new(Arc::clone(&registry), Arc::clone(&clock));
        let plane = ToolPlane::new(granted.clone(), link);

        let connectors = Connectors {
            store: Arc::new(SqlConnectors::new(db.clone())),
            registry: Arc::clone(&registry),
            granted: granted.clone(),
            servers: Arc::new(NoToolServers),
            clock: Arc::clone(&clock),
        };

        let host = "bench".into();
        let runner = Runner::on_current_runtime();
        let uplink = Uplink { connectors, registry, links, host, clock, runner };
        let address = serve(uplink, plane.clone())?;

        Ok(Self { address, plane, granted, records, _tasks: tasks })
    }

    /// Waits until all calls are recorded.
    pub(super) async fn until_recorded(&self) {
        self.records.close();
        self.records.wait().await;
        self.records.reopen();
    }

    /// Connects a pod with a tool that echoes. It is disconnected when the returned
    /// tasks are dropped.
    pub(super) fn connect_pod(
        &self,
        runtime: &Runtime,
        token: &Secret<String>,
    ) -> Outcome<JoinSet<()>> {
        let pod = Pod::new(&format!("http://{}", self.address), token)?
            .with_tool(Echo)
            .with_max_concurrent_calls(MAX_CONCURRENT_CALLS);
        let mut running = JoinSet::new();
        running.spawn_on(
            async move {
                // An error shows as calls that fail.
                pod.run(CancellationToken::new()).await.ok();
            },
            runtime.handle(),
        );
        Ok(running)
    }
}

/// Tool that echoes its arguments.
struct Echo;

#[async_trait]
impl Tool for Echo {
    fn description(&self) -> ToolDescription {
        let text = json!({ "type": "string" });
        let parameters = json!({ "type": "object", "properties": { "text": text } });
        ToolDescription::new("echo", "Echoes its arguments.", parameters)
    }

    async fn call(&self, arguments: Value, _: CallContext) -> Result<Value, String> {
        Ok(arguments)
    }
}

/// Returns the link over which pods are called. With PostgreSQL another instance
/// may hold a pod's connection, which a relay reaches; with SQLite there is no
/// other instance.
fn pod_link(
    db: &Database,
    local: Arc<dyn PodLink>,
    clock: Arc<dyn Clock>,
    tasks: &mut JoinSet<()>,
) -> Arc<dyn PodLink> {
    if db.provider() != DatabaseKind::Postgres {
        return local;
    }

    let relay = Arc::new(PodRelay::new(db.clone(), local, clock));
    let running = Arc::clone(&relay);
    tasks.spawn(async move { running.run().await });
    relay
}

/// Reports the connected pods to the registry until dropped.
async fn keep_alive(registry: Arc<dyn PodRegistry>, links: Arc<dyn PodLink>) {
    loop {
        let now = SystemClock.now();
        // A failure shows as calls that fail.
        registry.keep_alive(links.pods(), now, now + ALIVE).await.ok();
        tokio::time::sleep(KEEP_ALIVE_INTERVAL).await;
    }
}

/// Serves the hub, an echo over WebSockets, and direct calls of pods.
fn serve(uplink: Uplink, plane: ToolPlane) -> Outcome<SocketAddr> {
    let (sender, started) = sync_channel::<io::Result<Option<SocketAddr>>>(1);
    std::thread::spawn(move || {
        rt::System::new().block_on(async move {
            let uplink = Data::new(uplink);
            let plane = Data::new(plane);
            let connections = Data::new(Connections::default());
            let app = move || {
                App::new()
                    .app_data(uplink.clone())
                    .app_data(plane.clone())
                    .app_data(connections.clone())
                    .route("/echo", get().to(echo))
                    .route("/direct", post().to(direct))
                    .configure(|config| RouteTable::new(pia_uplink::routes()).register(config))
            };

            let server = HttpServer::new(app).workers(1).disable_signals().tcp_nodelay(true);
            match server.bind((Ipv4Addr::LOCALHOST, 0)) {
                Ok(server) => {
                    sender.send(Ok(server.addrs().first().copied())).ok();
                    server.run().await.ok();
                }
                Err(err) => {
                    sender.send(Err(err)).ok();
                }
            }
        });
    });
    started.recv()??.ok_or_else(|| "no port".into())
}

/// Echoes texts over a WebSocket, for `Metric::RawEcho`.
async fn echo(request: HttpRequest, payload: Payload) -> Result<HttpResponse, actix_web::Error> {
    let (response, mut session, messages) = actix_ws::handle(&request, payload)?;
    let mut messages = messages.aggregate_continuations();
    rt::spawn(async move {
        while let Some(Ok(AggregatedMessage::Text(text))) = messages.recv().await {
            if session.text(text).await.is_err() {
                return;
            }
        }
    });
    Ok(response)
}

/// Calls a pod of this instance, for `Metric::Direct`.
async fn direct(call: Json<(Uuid, PodCall)>, plane: Data<ToolPlane>) -> HttpResponse {
    let (pod, call) = call.into_inner();
    match plane.link.call(PodId(pod), call, ProgressSink::default()).await {
        Ok(reply) => HttpResponse::Ok().json(reply),
        Err(err) => HttpResponse::BadGateway().body(err.to_string()),
    }
}
