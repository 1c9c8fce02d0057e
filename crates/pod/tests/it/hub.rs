//! HTTP server with a hub for pods.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header::AUTHORIZATION;
use actix_web::web::{Data, Payload, Query};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, rt, web};
use parking_lot::Mutex;
use pia_signalr::{ConnectionSettings, NegotiateQuery, NegotiateResponse};
use rustls::ServerConfig;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

use crate::hub_connection::{Command, HubConnectionTask};

/// Token that the hub accepts.
pub(crate) const TOKEN: &str = "pia_pod_open-sesame";

/// Token that the hub issues in its place.
pub(crate) const RENEWED: &str = "pia_pod_open-barley";

/// Event at the hub.
#[derive(Debug, PartialEq)]
pub(crate) enum Event {
    /// Hello of a pod, with its description.
    Hello(Value),
    Drain,
    /// Request for another token.
    Rotate,
    Ping,
    /// Progress of a call.
    Progress(Value),
    /// Result of a call.
    Result(Result<Option<Value>, String>),
    /// End of a connection.
    Gone,
}

/// Behaviour of the hub.
#[derive(Debug, Default)]
pub(crate) struct HubOptions {
    pub(crate) settings: ConnectionSettings,
    /// Reason why each hello is refused.
    pub(crate) refusal: Option<&'static str>,
    /// Time until the end of the token.
    pub(crate) token_lifetime: Option<Duration>,
    /// Certificate of a hub over TLS.
    pub(crate) tls: Option<ServerConfig>,
}

/// Running hub. It ends with the test's runtime.
pub(crate) struct Hub {
    url: String,
    shared: Data<Shared>,
    events: UnboundedReceiver<Event>,
}

struct Shared {
    options: HubOptions,
    events: UnboundedSender<Event>,
    /// Token of the newest connection.
    token: Mutex<String>,
    /// Token that has ended.
    ended: Mutex<Option<&'static str>>,
    /// Commands to the newest connection, if a pod has connected.
    connection: Mutex<Option<UnboundedSender<Command>>>,
}

impl Hub {
    pub(crate) fn start() -> Self {
        Self::with(HubOptions::default())
    }

    /// Starts a hub on a port of its own.
    pub(crate) fn with(mut options: HubOptions) -> Self {
        let tls = options.tls.take();
        let (sender, events) = unbounded_channel();
        let shared = Data::from(Arc::new(Shared {
            options,
            events: sender,
            token: Mutex::default(),
            ended: Mutex::default(),
            connection: Mutex::default(),
        }));
        let data = shared.clone();
        let app = move || {
            App::new()
                .app_data(data.clone())
                .route("/hubs/pod-uplink/negotiate", web::post().to(negotiate))
                .route("/hubs/pod-uplink", web::get().to(connect))
        };
        let server = HttpServer::new(app).workers(1).disable_signals();
        let any_port = (Ipv4Addr::LOCALHOST, 0);
        let (scheme, bound) = match tls {
            Some(tls) => ("https", server.bind_rustls_0_23(any_port, tls)),
            None => ("http", server.bind(any_port)),
        };
        let server = bound.expect("a port");
        let address = server.addrs().first().copied().expect("an address");
        rt::spawn(server.run());
        Self { url: format!("{scheme}://{address}"), shared, events }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the token of the newest connection.
    pub(crate) fn token(&self) -> String {
        self.shared.token.lock().clone()
    }

    /// Refuses a token from now on.
    pub(crate) fn end_token(&self, token: &'static str) {
        *self.shared.ended.lock() = Some(token);
    }

    /// Returns the next event that is no ping.
    pub(crate) async fn next(&mut self) -> Event {
        timeout(Duration::from_secs(20), async {
            loop {
                match self.next_or_ping().await {
                    Event::Ping => {}
                    event => return event,
                }
            }
        })
        .await
        .expect("an event within twenty seconds")
    }

    pub(crate) async fn next_or_ping(&mut self) -> Event {
        self.events.recv().await.expect("a hub")
    }

    /// Waits for the hello of a pod, and returns its description.
    pub(crate) async fn hello(&mut self) -> Value {
        match self.next().await {
            Event::Hello(description) => description,
            other => panic!("no hello: {other:?}"),
        }
    }

    /// Waits for the result of a call.
    pub(crate) async fn result(&mut self) -> Value {
        match self.next().await {
            Event::Result(Ok(Some(result))) => result,
            other => panic!("no result: {other:?}"),
        }
    }

    /// Calls a tool, with a time limit of 10 seconds.
    pub(crate) fn call(&self, call_id: &str, tool: &str, arguments: &Value) {
        self.invoke(
            "Call",
            json!({
                "callId": call_id, "tool": tool, "arguments": arguments, "timeoutSeconds": 10,
            }),
        );
    }

    /// Calls a method of the pod that has a result.
    pub(crate) fn invoke(&self, target: &'static str, argument: Value) {
        self.command(Command::Invoke(target, argument));
    }

    /// Commands the newest connection.
    pub(crate) fn command(&self, command: Command) {
        let guard = self.shared.connection.lock();
        let connection = guard.as_ref().expect("a connection");
        assert!(connection.send(command).is_ok(), "the connection is gone");
    }
}

/// Returns the token of a request, if the hub accepts it.
fn accepted_token(request: &HttpRequest, shared: &Shared) -> Option<String> {
    let header = request.headers().get(AUTHORIZATION).and_then(|it| it.to_str().ok());
    let token = header.and_then(|it| it.strip_prefix("Bearer "))?;
    let is_accepted = [TOKEN, RENEWED].contains(&token) && *shared.ended.lock() != Some(token);
    is_accepted.then(|| token.to_owned())
}

async fn negotiate(
    request: HttpRequest,
    shared: Data<Shared>,
    query: Query<NegotiateQuery>,
) -> HttpResponse {
    if accepted_token(&request, &shared).is_none() {
        return HttpResponse::Unauthorized().finish();
    }
    let query = NegotiateQuery { use_stateful_reconnect: false, ..*query };
    let id = "id".to_owned();
    let token = "token".to_owned();
    HttpResponse::Ok().json(NegotiateResponse::new(query, id, token))
}

async fn connect(
    request: HttpRequest,
    shared: Data<Shared>,
    payload: Payload,
) -> actix_web::Result<HttpResponse> {
    let Some(token) = accepted_token(&request, &shared) else {
        return Ok(HttpResponse::Unauthorized().finish());
    };
    *shared.token.lock() = token;
    let (response, session, messages) = actix_ws::handle(&request, payload)?;
    let (sender, commands) = unbounded_channel();
    *shared.connection.lock() = Some(sender);
    let task = HubConnectionTask::new(&shared.options, session, shared.events.clone());
    rt::spawn(task.run(messages, commands));
    Ok(response)
}
