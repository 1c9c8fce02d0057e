//! Minimal reverse proxy on actix-web: the baseline for the overhead of the
//! server.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use actix_web::body::SizedStream;
use actix_web::http::StatusCode;
use actix_web::web::{self, Bytes, Data};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer};
use futures_util::TryStreamExt;
use http_body_util::{BodyDataStream, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::failure::Outcome;

const WORKERS: usize = 2;
/// Idle timeout, shorter than the five seconds after which many servers close a
/// connection: a request sent at that moment is lost.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// Headers of one connection, not of the request: RFC 9110 section 7.6.1.
const HOP_BY_HOP: [&str; 6] =
    ["connection", "keep-alive", "te", "transfer-encoding", "upgrade", "content-length"];

/// HTTP client of one worker. Workers share no client, as a connection is
/// driven by the worker that opened it.
struct Upstream {
    http: Client<HttpConnector, Full<Bytes>>,
    authority: String,
}

/// Forwards every request to `upstream` until the process ends. If `listen` has
/// the port 0, a free port is used. `on_listening` is called with the address
/// once the proxy listens on it.
pub fn serve(
    listen: SocketAddr,
    upstream: SocketAddr,
    on_listening: impl FnOnce(SocketAddr) -> io::Result<()>,
) -> Outcome<()> {
    let application = move || {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let http = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_timer(TokioTimer::new())
            .build(connector);
        let upstream = Upstream { http, authority: upstream.to_string() };
        App::new().app_data(Data::new(upstream)).default_service(web::to(forward))
    };

    let server = HttpServer::new(application).workers(WORKERS).tcp_nodelay(true).bind(listen)?;
    on_listening(server.addrs().first().copied().unwrap_or(listen))?;
    actix_web::rt::System::new().block_on(server.run())?;

    Ok(())
}

async fn forward(
    request: HttpRequest,
    body: Bytes,
    upstream: Data<Upstream>,
) -> Result<HttpResponse, actix_web::Error> {
    let outgoing = to_hyper(&request, body, &upstream).map_err(bad_gateway)?;
    let upstream_response = upstream.http.request(outgoing).await.map_err(bad_gateway)?;
    let (head, body) = upstream_response.into_parts();
    let status = StatusCode::from_u16(head.status.as_u16()).map_err(bad_gateway)?;
    let mut response = HttpResponse::build(status);
    for (name, value) in &head.headers {
        if !HOP_BY_HOP.contains(&name.as_str()) {
            response.append_header((name.as_str(), value.as_bytes()));
        }
    }

    let length = head.headers.get("content-length").and_then(|it| it.to_str().ok()?.parse().ok());
    let stream = BodyDataStream::new(body).map_err(bad_gateway);
    Ok(match length {
        Some(length) => response.body(SizedStream::new(length, stream)),
        None => response.streaming(stream),
    })
}

/// Converts the request from the types of actix-web to those of hyper.
fn to_hyper(
    request: &HttpRequest,
    body: Bytes,
    upstream: &Upstream,
) -> Result<http::Request<Full<Bytes>>, http::Error> {
    let mut outgoing = http::Request::builder().method(request.method().as_str()).uri(format!(
        "http://{}{}",
        upstream.authority,
        request.uri()
    ));
    for (name, value) in request.headers() {
        if name != "host" && !HOP_BY_HOP.contains(&name.as_str()) {
            outgoing = outgoing.header(name.as_str(), value.as_bytes());
        }
    }
    outgoing.body(Full::new(body))
}

fn bad_gateway(err: impl std::error::Error + 'static) -> actix_web::Error {
    actix_web::error::ErrorBadGateway(err)
}
