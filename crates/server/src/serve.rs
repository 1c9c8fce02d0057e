//! The HTTP server and its listening socket.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use actix_web::dev::{ServerHandle, ServiceFactory, ServiceRequest};
use actix_web::http::KeepAlive;
use actix_web::middleware::{Compress, from_fn};
use actix_web::web::Data;
use actix_web::{App as ActixApp, Error, HttpServer};
use pia_uplink::Connections;
use pia_web::{
    BasePath, BodyMemory, Draining, Metrics, StrictTransport, TrustedProxies, acceptable_encoding,
    admit, keep_uncompressed, query_config, strip_base_path, surface, translate_errors,
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
    /// HSTS settings.
    pub strict_transport: StrictTransport,
    /// Number of workers.
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
/// otherwise their buffers would wait for it without a limit.
fn listener(address: SocketAddr) -> std::io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    sockopt::set_tcp_user_timeout(&listener, UNREAD_TIMEOUT_MS)?;
    Ok(listener)
}

/// A server that listens.
pub struct Server {
    /// Address that it listens on.
    pub addr: SocketAddr,
    /// Background work beside requests.
    pub background: Background,
    /// Metrics.
    pub metrics: Data<Metrics>,
    /// Draining state; while draining, clients are asked to reconnect elsewhere.
    pub draining: Draining,
    /// Connections of pods.
    pub connections: Data<Connections>,
    /// The server, which runs while it is polled.
    pub server: actix_web::dev::Server,
}

impl Server {
    /// Binds the address and starts the workers.
    pub fn bind(listen: Listen, app: App) -> std::io::Result<Self> {
        let App { api, mcp, scim, uplink, setup_pages, account_pages, gates, metrics, ai, .. } =
            app;
        let listener = listener(listen.address)?;
        let addr = listener.local_addr()?;
        let base_path = Data::new(BasePath(listen.base_path));
        let proxies = Data::new(listen.proxies);
        let strict_transport = Data::new(listen.strict_transport);
        let memory = Data::new(BodyMemory::new(listen.body_memory));
        let draining = Draining::default();
        let api = Data::new(api);
        let setup_pages = Data::new(setup_pages);
        let gates = Data::new(gates);
        let account_pages = Data::new(account_pages);
        let metrics = Data::new(metrics);
        let uplink = Data::new(uplink);
        let connections = Data::new(Connections::default());
        let scim = Data::new(scim);
        let mcp = Data::new(mcp);
        let ending = Data::new(draining.clone());
        let counted = Data::clone(&metrics);
        let pods = Data::clone(&connections);
        // Once here, so that an error prevents the start.
        ai.on_worker().map_err(std::io::Error::other)?;
        let factory = move || {
            let table = Data::clone(&gates);
            // Middleware that is wrapped last runs first.
            let app = ActixApp::new()
                .app_data(Data::clone(&api))
                .app_data(Data::clone(&scim))
                .app_data(Data::clone(&mcp))
                .app_data(Data::clone(&uplink))
                .app_data(Data::clone(&connections))
                .app_data(Data::clone(&setup_pages))
                .app_data(Data::clone(&account_pages))
                .app_data(Data::clone(&gates))
                .app_data(Data::clone(&counted))
                .app_data(Data::clone(&ending))
                .app_data(Data::clone(&base_path))
                .app_data(Data::clone(&proxies))
                .app_data(Data::clone(&strict_transport))
                .app_data(Data::clone(&memory))
                .app_data(query_config())
                .wrap(from_fn(admit))
                .wrap(from_fn(translate_errors))
                .wrap(from_fn(pia_console::render_errors))
                .wrap(from_fn(keep_uncompressed))
                .wrap(Compress::default())
                .wrap(from_fn(acceptable_encoding))
                .wrap(from_fn(strip_base_path))
                .wrap(from_fn(surface))
                .configure(move |config| table.table.register(config));
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
            Some(tls) => server.listen_rustls_0_23(listener, tls)?,
            None => server.listen(listener)?,
        };
        let background = app.background;
        let server = server.run();
        Ok(Self { addr, background, metrics, draining, connections: pods, server })
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
