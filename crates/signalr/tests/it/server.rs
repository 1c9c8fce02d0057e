//! HTTP server with a hub.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use actix_web::http::header::AUTHORIZATION;
use actix_web::web::{Data, Payload, Query};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, rt, web};
use parking_lot::Mutex;
use pia_signalr::{ConnectionSettings, NegotiateQuery, NegotiateResponse};
use serde::Deserialize;
use tokio::sync::mpsc::UnboundedSender;

use crate::connection_task::{ConnectionTask, Input};
use crate::transport::Transport;

/// Credential that the hub demands.
pub(crate) const ACCESS_TOKEN: &str = "open sesame";

/// Starts the server on a port of its own. It ends with the test's runtime.
pub(crate) fn start() -> SocketAddr {
    let hub = Data::new(Hub::default());
    let app = move || {
        App::new()
            .app_data(hub.clone())
            .route("/{hub}/negotiate", web::post().to(negotiate))
            .route("/{hub}", web::get().to(connect))
    };
    let server = HttpServer::new(app)
        .workers(1)
        .disable_signals()
        .bind((Ipv4Addr::LOCALHOST, 0))
        .expect("a port");
    let address = server.addrs().first().copied().expect("an address");
    rt::spawn(server.run());
    address
}

/// Connections by their tokens.
#[derive(Default)]
struct Hub {
    owners: Mutex<HashMap<String, Owner>>,
}

/// Task that owns a connection.
struct Owner {
    inputs: UnboundedSender<Input>,
    is_stateful: bool,
    /// Number of transports that were attached to it.
    transports: u32,
}

#[derive(Deserialize)]
struct Access {
    access_token: Option<String>,
    id: Option<String>,
}

impl Access {
    /// Returns whether a request has the token in its header, or as browsers in
    /// its query.
    fn is_granted(&self, request: &HttpRequest) -> bool {
        let header = request.headers().get(AUTHORIZATION).and_then(|it| it.to_str().ok());
        header.and_then(|it| it.strip_prefix("Bearer ")).or(self.access_token.as_deref())
            == Some(ACCESS_TOKEN)
    }
}

async fn negotiate(
    request: HttpRequest,
    access: Query<Access>,
    query: Query<NegotiateQuery>,
    hub: Data<Hub>,
) -> HttpResponse {
    if !access.is_granted(&request) {
        return HttpResponse::Unauthorized().finish();
    }
    let number = hub.owners.lock().len();
    let id = format!("id-{number}");
    let token = format!("token-{number}");
    let response = NegotiateResponse::new(*query, id, token.clone());
    spawn(&hub, token, settings(&request, response.is_stateful()));
    HttpResponse::Ok().json(response)
}

async fn connect(
    request: HttpRequest,
    access: Query<Access>,
    hub: Data<Hub>,
    payload: Payload,
) -> actix_web::Result<HttpResponse> {
    if !access.is_granted(&request) {
        return Ok(HttpResponse::Unauthorized().finish());
    }
    let token = access.id.clone().unwrap_or_else(|| {
        let token = format!("token-{}", hub.owners.lock().len());
        spawn(&hub, token.clone(), settings(&request, false));
        token
    });
    let mut owners = hub.owners.lock();
    let Some(owner) = owners.get_mut(&token).filter(|it| !it.inputs.is_closed()) else {
        return Ok(HttpResponse::NotFound().finish());
    };
    if owner.transports > 0 && !owner.is_stateful {
        return Ok(HttpResponse::Conflict().finish());
    }
    owner.transports += 1;
    let (response, session, messages) = actix_ws::handle(&request, payload)?;
    let transport = Transport::spawn(owner.transports, session, messages, owner.inputs.clone());
    owner.inputs.send(Input::Attached(transport)).ok();
    Ok(response)
}

fn settings(request: &HttpRequest, is_stateful: bool) -> ConnectionSettings {
    let mut settings = ConnectionSettings {
        resume_timeout: is_stateful.then_some(Duration::from_secs(30)),
        max_buffered_bytes: 256 * 1024,
        ..ConnectionSettings::default()
    };
    if request.path().starts_with("/impatient") {
        settings.keep_alive = Duration::from_millis(300);
        settings.client_timeout = Duration::from_secs(4);
    }
    settings
}

/// Spawns the owner of a new connection.
fn spawn(hub: &Hub, token: String, settings: ConnectionSettings) {
    let is_stateful = settings.resume_timeout.is_some();
    let owner = Owner { inputs: ConnectionTask::spawn(settings), is_stateful, transports: 0 };
    hub.owners.lock().insert(token, owner);
}
