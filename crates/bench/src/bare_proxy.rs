//! The least that a reverse proxy on actix-web can do: the measure of what
//! the server adds.

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
/// Less than the five seconds after which many servers close an unused
/// connection: a request that meets that moment is lost.
const IDLE: Duration = Duration::from_secs(4);

/// These concern one connection, not the request: RFC 9110 section 7.6.1.
const HOP_BY_HOP: [&str; 6] =
    ["connection", "keep-alive", "te", "transfer-encoding", "upgrade", "content-length"];

/// A worker's way to the upstream. Each worker has its own, as a connection
/// is driven by the worker that opened it.
struct Upstream {
    http: Client<HttpConnector, Full<Bytes>>,
    authority: String,
}

/// Passes everything on to `upstream` until the process is ended. Where
/// `listen` has the port 0 it takes a free one; `told` learns where it
/// listens, once it does.
pub fn serve(
    listen: SocketAddr,
    upstream: SocketAddr,
    reported: impl FnOnce(SocketAddr) -> io::Result<()>,
) -> Outcome<()> {
    let server = HttpServer::new(move || {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let http = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE)
            .pool_timer(TokioTimer::new())
            .build(connector);
        let upstream = Upstream { http, authority: upstream.to_string() };
        App::new().app_data(Data::new(upstream)).default_service(web::to(forward))
    });
    let server = server.workers(WORKERS).tcp_nodelay(true).bind(listen)?;
    reported(server.addrs().first().copied().unwrap_or(listen))?;
    actix_web::rt::System::new().block_on(server.run())?;
    Ok(())
}

async fn forward(
    request: HttpRequest,
    body: Bytes,
    upstream: Data<Upstream>,
) -> Result<HttpResponse, actix_web::Error> {
    let outgoing = outgoing(&request, body, &upstream).map_err(bad_gateway)?;
    let answer = upstream.http.request(outgoing).await.map_err(bad_gateway)?;
    let (head, body) = answer.into_parts();
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

/// Converts the request for the upstream: actix-web and hyper have types of
/// their own.
fn outgoing(
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
