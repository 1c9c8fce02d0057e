//! The HTTP server and its listening socket.
//!
//! `Server::bind` shares the services of an `App` among all workers and wraps the
//! middleware; the order of the `wrap` calls is the order of
//! docs/ARCHITECTURE.md, read from the last to the first. The caller polls
//! `Server::server` to serve.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use actix_web::dev::{ServerHandle, ServiceFactory, ServiceRequest};
use actix_web::http::KeepAlive;
use actix_web::middleware::{Compress, from_fn};
use actix_web::web::{Data, ServiceConfig};
use actix_web::{App as ActixApp, Error, HttpServer};
use pia_console::{AccountPages, SetupPages};
use pia_http::Api;
use pia_mcp::Mcp;
use pia_scim::Scim;
use pia_uplink::{Connections, Uplink};
use pia_web::{
    BasePath, BodyMemory, Draining, Gates, Metrics, StrictTransport, TrustedProxies,
    acceptable_encoding, admit, keep_uncompressed, query_config, strip_base_path, surface,
    translate_errors,
};
use rustix::net::sockopt;

use crate::App;
use crate::compose::{AiFactory, Background};

/// Listening settings of a server.
pub struct Listen {
    /// Address, such as `127.0.0.1:8080`; port 0 lets the system choose.
    pub address: SocketAddr,
    /// Path prefix of every route, or empty.
    pub base_path: String,
    /// Proxies whose forwarding headers are trusted.
    pub proxies: TrustedProxies,
    /// Settings of the `Strict-Transport-Security` header.
    pub strict_transport: StrictTransport,
    /// Number of worker threads, each with its own connections to models.
    pub workers: usize,
    /// Maximum number of connections of each worker.
    pub connections: usize,
    /// Maximum memory of all bodies together, in bytes.
    pub body_memory: usize,
    /// TLS configuration, if the server terminates TLS itself.
    pub tls: Option<rustls::ServerConfig>,
    /// Duration for which shutdown waits for running requests.
    pub shutdown: Duration,
}

/// Timeout of reading the head of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(15);
/// Timeout of idle connections. Longer than that of usual proxies, as the side
/// that closes first may lose a request in flight.
const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// Time after which a connection is reset whose client reads nothing, in milliseconds.
const UNREAD_TIMEOUT_MS: u32 = 120_000;

/// Listens on an address. Accepted connections end when their client reads nothing:
/// otherwise the buffers would wait for the client without a limit.
fn bind_listener(address: SocketAddr) -> std::io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    sockopt::set_tcp_user_timeout(&listener, UNREAD_TIMEOUT_MS)?;
    Ok(listener)
}

/// Services that handlers and middleware find in a request. All workers share
/// them.
#[derive(Clone)]
struct Services {
    api: Data<Api>,
    scim: Data<Scim>,
    mcp: Data<Mcp>,
    uplink: Data<Uplink>,
    connections: Data<Connections>,
    setup_pages: Data<SetupPages>,
    account_pages: Data<AccountPages>,
    gates: Data<Gates>,
    metrics: Data<Metrics>,
    draining: Data<Draining>,
    base_path: Data<BasePath>,
    proxies: Data<TrustedProxies>,
    strict_transport: Data<StrictTransport>,
    body_memory: Data<BodyMemory>,
}

impl Services {
    /// Registers the services and the routes of the table.
    fn register(&self, config: &mut ServiceConfig) {
        config
            .app_data(Data::clone(&self.api))
            .app_data(Data::clone(&self.scim))
            .app_data(Data::clone(&self.mcp))
            .app_data(Data::clone(&self.uplink))
            .app_data(Data::clone(&self.connections))
            .app_data(Data::clone(&self.setup_pages))
            .app_data(Data::clone(&self.account_pages))
            .app_data(Data::clone(&self.gates))
            .app_data(Data::clone(&self.metrics))
            .app_data(Data::clone(&self.draining))
            .app_data(Data::clone(&self.base_path))
            .app_data(Data::clone(&self.proxies))
            .app_data(Data::clone(&self.strict_transport))
            .app_data(Data::clone(&self.body_memory))
            .app_data(query_config());

        self.gates.table.register(config);
    }
}

/// A server that listens.
pub struct Server {
    /// Address that it listens on.
    pub addr: SocketAddr,
    /// Background work beside requests.
    pub background: Background,
    /// Metrics of the server, which `/metrics` reports.
    pub metrics: Data<Metrics>,
    /// Draining state; while draining, clients are asked to reconnect elsewhere.
    pub draining: Draining,
    /// Connections of pods, by which their messages are routed.
    pub connections: Data<Connections>,
    /// The server, which runs while it is polled.
    pub server: actix_web::dev::Server,
}

impl Server {
    /// Binds the address and starts the workers.
    pub fn bind(listen: Listen, app: App) -> std::io::Result<Self> {
        let background = app.background;
        let ai = app.ai;
        let listener = bind_listener(listen.address)?;
        let addr = listener.local_addr()?;
        let draining = Draining::default();
        let metrics = Data::new(app.metrics);
        let connections = Data::new(Connections::default());
        let services = Services {
            api: Data::new(app.api),
            scim: Data::new(app.scim),
            mcp: Data::new(app.mcp),
            uplink: Data::new(app.uplink),
            connections: Data::clone(&connections),
            setup_pages: Data::new(app.setup_pages),
            account_pages: Data::new(app.account_pages),
            gates: Data::new(app.gates),
            metrics: Data::clone(&metrics),
            draining: Data::new(draining.clone()),
            base_path: Data::new(BasePath(listen.base_path)),
            proxies: Data::new(listen.proxies),
            strict_transport: Data::new(listen.strict_transport),
            body_memory: Data::new(BodyMemory::new(listen.body_memory)),
        };
        // Once here, so that an error prevents the start.
        ai.on_worker().map_err(std::io::Error::other)?;

        let factory = move || {
            // Middleware that is wrapped last runs first.
            let app = ActixApp::new()
                .wrap(from_fn(admit))
                .wrap(from_fn(translate_errors))
                .wrap(from_fn(pia_console::render_errors))
                .wrap(from_fn(keep_uncompressed))
                .wrap(Compress::default())
                .wrap(from_fn(acceptable_encoding))
                .wrap(from_fn(strip_base_path))
                .wrap(from_fn(surface))
                .configure(|config| services.register(config));

            with_ai(app, &ai)
        };

        let server = HttpServer::new(factory)
            .workers(listen.workers)
            .max_connections(listen.connections)
            .disable_signals()
            .shutdown_timeout(listen.shutdown.as_secs())
            .client_request_timeout(HEADER_TIMEOUT)
            .keep_alive(KeepAlive::Timeout(KEEP_ALIVE))
            // Without it, Nagle's algorithm delays every other chunk of a stream.
            .tcp_nodelay(true)
            // If allowed, a disconnected client is not noticed before a write fails.
            .h1_allow_half_closed(false);

        let server = match listen.tls {
            Some(tls) => server.listen_rustls_0_23(listener, tls)?.run(),
            None => server.listen(listener)?.run(),
        };
        Ok(Self { addr, background, metrics, draining, connections, server })
    }

    /// Returns a handle that stops the server.
    pub fn handle(&self) -> ServerHandle {
        self.server.handle()
    }
}

/// Adds the AI use cases. They are created on the worker that uses them, as
/// connections are driven where they were opened.
fn with_ai<T>(app: ActixApp<T>, ai: &AiFactory) -> ActixApp<T>
where
    T: ServiceFactory<ServiceRequest, Config = (), Error = Error, InitError = ()>,
{
    match ai.on_worker() {
        Ok(ai) => app.app_data(Data::new(ai)),
        Err(err) => {
            tracing::error!(error = %err, "failed to create the HTTP client for upstream models");
            app
        }
    }
}
