//! Server of the hub, on a thread of its own.

use std::future::pending;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::http::Method;
use actix_web::middleware::from_fn;
use actix_web::web::{Data, Query};
use actix_web::{App, HttpResponse, HttpServer, rt};
use pia_kernel::{ConnectorId, GroupId, UserId};
use pia_pods::{
    Connectors, GrantedPods, MockConnectorStore, NoToolServers, PodRegistry, PodReply,
    ToolCallError, ToolCaller, ToolPlane,
};
use pia_testkit::FixedClock;
use pia_uplink::{Connections, LocalLinks, Uplink};
use pia_web::{
    AcceptedCredentials, Access, AccountScope, CountedAgainst, Docs, Licensing, OpenApiDocument,
    ProofCheck, RateLimit, ResponseDoc, Route, RouteTable, Runner, TrustedProxies, admit, surface,
};
use serde::Deserialize;
use tokio::time::timeout;

use crate::gates::{NOW, gates};
use crate::registry::MemoryRegistry;

/// Time in which everything is answered that is not to wait.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);
/// Number of tokens that the server accepts.
const TOKENS: u32 = 100;

/// Returns a valid token, or with other numbers an unknown one.
pub(crate) fn token(number: u32) -> String {
    format!("pia_pod_{number:043}")
}

/// Running server, which ends when dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) registry: Arc<MemoryRegistry>,
    pub(crate) links: Arc<LocalLinks>,
    pub(crate) plane: ToolPlane,
    handle: ServerHandle,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.handle.stop(false));
    }
}

impl Server {
    pub(crate) fn start() -> Self {
        let registry = Arc::<MemoryRegistry>::default();
        let links = Arc::<LocalLinks>::default();
        let shared: Arc<dyn PodRegistry> = Arc::<MemoryRegistry>::clone(&registry);
        let granted = GrantedPods::new(shared, Arc::new(FixedClock(NOW)));
        let plane = ToolPlane::new(granted.clone(), Arc::<LocalLinks>::clone(&links));
        let (sender, started) = sync_channel(1);
        let its_links = Arc::clone(&links);
        let its_plane = plane.clone();
        std::thread::spawn(move || {
            rt::System::new().block_on(async move {
                let (address, server) = serve(its_links, its_plane, granted);
                sender.send((address, server.handle())).unwrap();
                server.await.unwrap();
            });
        });
        let (address, handle) = started.recv().unwrap();
        Self { address, registry, links, plane, handle }
    }

    /// Calls a tool of a pod, which takes no longer than the limit of the tool.
    pub(crate) async fn call(&self, tool: &str, text: &str) -> Result<PodReply, ToolCallError> {
        let outcome = timeout(TIMEOUT, call(&self.plane, tool, text)).await;
        outcome.expect("the end of a call")
    }

    /// Checks that a tool which echoes is not impaired.
    pub(crate) async fn assert_echo(&self, tool: &str) {
        let reply = PodReply { content: "Hello!".into(), is_error: false };
        assert_eq!(self.call(tool, "Hello!").await, Ok(reply));
    }
}

async fn call(plane: &ToolPlane, tool: &str, text: &str) -> Result<PodReply, ToolCallError> {
    let caller = ToolCaller { user: UserId::generate(), group: GroupId::generate() };
    let arguments = serde_json::json!({ "text": text }).to_string();
    plane.call(caller, tool, &arguments, pending()).await
}

fn serve(
    links: Arc<LocalLinks>,
    plane: ToolPlane,
    granted: GrantedPods,
) -> (SocketAddr, actix_web::dev::Server) {
    let uplink = Data::new(Uplink {
        connectors: Connectors {
            store: Arc::new(store()),
            registry: Arc::clone(&plane.registry),
            granted,
            servers: Arc::new(NoToolServers),
            clock: Arc::clone(&plane.clock),
        },
        registry: Arc::clone(&plane.registry),
        links,
        host: "test".into(),
        clock: Arc::clone(&plane.clock),
        runner: Runner::on_current_runtime(),
    });
    let plane = Data::new(plane);
    let connections = Data::new(Connections::default());
    let gates = Data::new(gates(RouteTable::new(routes())));
    let app = move || {
        App::new()
            .app_data(gates.clone())
            .app_data(uplink.clone())
            .app_data(connections.clone())
            .app_data(plane.clone())
            .app_data(Data::new(TrustedProxies::default()))
            .wrap(from_fn(admit))
            .wrap(from_fn(surface))
            .configure(|config| RouteTable::new(routes()).register(config))
    };
    let server = HttpServer::new(app)
        .workers(1)
        .disable_signals()
        .tcp_nodelay(true)
        .h1_allow_half_closed(false)
        .backlog(2048)
        .bind((Ipv4Addr::LOCALHOST, 0))
        .unwrap();
    let address = server.addrs()[0];
    (address, server.run())
}

/// Returns a store that gives each token a connector of its own.
fn store() -> MockConnectorStore {
    let connectors: Vec<_> = (0..TOKENS)
        .map(|number| {
            let token = pia_pods::ConnectorToken::parse(&token(number)).unwrap();
            (token.hash(), ConnectorId::generate())
        })
        .collect();
    let mut store = MockConnectorStore::new();
    store
        .expect_find_token()
        .returning(move |hash, _| Ok(connectors.iter().find(|it| it.0 == hash).map(|it| it.1)));
    store
}

/// Returns the routes of the hub, and those with which tests look at the server.
fn routes() -> Vec<Route> {
    let mut routes = pia_uplink::routes();
    routes.push(probe("/health", |it| it.to(async || HttpResponse::Ok().body("ok"))));
    routes.push(probe("/call", |it| it.to(call_tool)));
    routes
}

#[derive(Deserialize)]
struct CallQuery {
    tool: String,
    text: String,
}

async fn call_tool(query: Query<CallQuery>, plane: Data<ToolPlane>) -> HttpResponse {
    match call(&plane, &query.tool, &query.text).await {
        Ok(reply) => HttpResponse::Ok().body(reply.into_text()),
        Err(err) => HttpResponse::BadGateway().body(err.to_string()),
    }
}

fn probe(path: &'static str, handler: fn(actix_web::Route) -> actix_web::Route) -> Route {
    Route {
        method: Method::GET,
        path,
        access: Access::Anonymous,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Any,
        licensing: Licensing::NotNeeded,
        feature: None,
        rate_limit: RateLimit::Unlimited,
        counted_against: CountedAgainst::Address,
        body_limit: 0,
        document: OpenApiDocument::Own,
        proof_check: ProofCheck::InHandler,
        handler,
        docs: Docs {
            tag: "test",
            summary: "Route of the test.",
            request: None,
            answer: ResponseDoc::Nothing,
            refusals: &[],
        },
    }
}
