//! Hub to which the tests' pods connect, in place of a server.
//!
//! `Hub` is the side of the test: it sends calls and waits for events. Each connection of a pod
//! is served by a task of its own ([`HubConnectionTask`]), which exchanges events and commands
//! with the hub over channels.

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

/// Token that the pods begin with.
pub(crate) const TOKEN: &str = "pia_pod_open-sesame";

/// Token that the hub issues in place of [`TOKEN`], and accepts too.
pub(crate) const RENEWED: &str = "pia_pod_open-barley";

/// Maximum time until a test gets an event that it waits for.
const EVENT_TIMEOUT: Duration = Duration::from_secs(20);

/// Message of a pod that the hub received, or the end of its connection.
#[derive(Debug, PartialEq)]
pub(crate) enum Event {
    /// Hello of a pod, with its description.
    Hello(Value),
    /// Announcement that the pod ends, and takes no more calls.
    Drain,
    /// Request for another token.
    Rotate,
    /// Sign of life of an idle connection.
    Ping,
    /// Progress of a call.
    Progress(Value),
    /// Result of a call, or its error message.
    Result(Result<Option<Value>, String>),
    /// End of a connection.
    Gone,
}

/// Behaviour of the hub.
#[derive(Debug, Default)]
pub(crate) struct HubOptions {
    pub(crate) settings: ConnectionSettings,
    /// Reason with which the hub refuses each hello; `None` accepts them.
    pub(crate) refusal: Option<&'static str>,
    /// Remaining lifetime of the token, as the answer to a hello states it; `None` states none.
    pub(crate) token_lifetime: Option<Duration>,
    /// Configuration for TLS; `None` serves plain HTTP.
    pub(crate) tls: Option<ServerConfig>,
}

/// Running hub. It ends with the test's runtime.
pub(crate) struct Hub {
    url: String,
    shared: Data<Shared>,
    events: UnboundedReceiver<Event>,
}

/// State shared by the test and the handlers of requests.
struct Shared {
    options: HubOptions,
    events: UnboundedSender<Event>,
    /// Token of the newest connection.
    token: Mutex<String>,
    /// Token that the hub no longer accepts.
    ended_token: Mutex<Option<&'static str>>,
    /// Commands to the newest connection, if a pod has connected.
    connection: Mutex<Option<UnboundedSender<Command>>>,
}

impl Hub {
    pub(crate) fn start() -> Self {
        Self::with(HubOptions::default())
    }

    /// Starts a hub on a free port.
    pub(crate) fn with(mut options: HubOptions) -> Self {
        let tls = options.tls.take();
        let (event_sender, events) = unbounded_channel();
        let shared = Data::from(Arc::new(Shared {
            options,
            events: event_sender,
            token: Mutex::default(),
            ended_token: Mutex::default(),
            connection: Mutex::default(),
        }));

        let app_data = shared.clone();
        let app = move || {
            App::new()
                .app_data(app_data.clone())
                .route("/hubs/pod-uplink/negotiate", web::post().to(negotiate))
                .route("/hubs/pod-uplink", web::get().to(connect))
        };
        let server = HttpServer::new(app).workers(1).disable_signals();

        let free_port = (Ipv4Addr::LOCALHOST, 0);
        let (scheme, bound_server) = match tls {
            Some(tls) => ("https", server.bind_rustls_0_23(free_port, tls).expect("a port")),
            None => ("http", server.bind(free_port).expect("a port")),
        };
        let address = bound_server.addrs().first().copied().expect("an address");
        rt::spawn(bound_server.run());

        Self { url: format!("{scheme}://{address}"), shared, events }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the token of the newest connection.
    pub(crate) fn token(&self) -> String {
        self.shared.token.lock().clone()
    }

    /// Ends a token: the hub refuses it from now on.
    pub(crate) fn end_token(&self, token: &'static str) {
        *self.shared.ended_token.lock() = Some(token);
    }

    /// Waits for the next event that is no ping.
    pub(crate) async fn next(&mut self) -> Event {
        let next_event = async {
            loop {
                let event = self.next_or_ping().await;
                if event != Event::Ping {
                    return event;
                }
            }
        };
        timeout(EVENT_TIMEOUT, next_event).await.expect("an event in time")
    }

    /// Waits for the next event, without a time limit.
    pub(crate) async fn next_or_ping(&mut self) -> Event {
        self.events.recv().await.expect("a hub")
    }

    /// Waits for the hello of a pod, and returns its description.
    pub(crate) async fn hello(&mut self) -> Value {
        match self.next().await {
            Event::Hello(description) => description,
            event => panic!("no hello: {event:?}"),
        }
    }

    /// Waits for the result of a call, which must succeed.
    pub(crate) async fn result(&mut self) -> Value {
        match self.next().await {
            Event::Result(Ok(Some(result))) => result,
            event => panic!("no result: {event:?}"),
        }
    }

    /// Calls a tool, with a time limit of 10 seconds.
    pub(crate) fn call(&self, call_id: &str, tool: &str, arguments: &Value) {
        let call = json!({
            "callId": call_id,
            "tool": tool,
            "arguments": arguments,
            "timeoutSeconds": 10,
        });
        self.invoke("Call", call);
    }

    /// Calls a method of the pod that has a result.
    pub(crate) fn invoke(&self, target: &'static str, argument: Value) {
        self.command(Command::Invoke(target, argument));
    }

    /// Sends a command to the newest connection.
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
    let is_known = [TOKEN, RENEWED].contains(&token);
    let has_ended = *shared.ended_token.lock() == Some(token);
    (is_known && !has_ended).then(|| token.to_owned())
}

/// Handles the first request of a SignalR client.
async fn negotiate(
    request: HttpRequest,
    shared: Data<Shared>,
    query: Query<NegotiateQuery>,
) -> HttpResponse {
    if accepted_token(&request, &shared).is_none() {
        return HttpResponse::Unauthorized().finish();
    }

    let supported_query = NegotiateQuery { use_stateful_reconnect: false, ..*query };
    let connection_id = "id".to_owned();
    let connection_token = "token".to_owned();
    let response = NegotiateResponse::new(supported_query, connection_id, connection_token);
    HttpResponse::Ok().json(response)
}

/// Opens the WebSocket of a pod; from then on, commands go to its connection.
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
    let (command_sender, commands) = unbounded_channel();
    *shared.connection.lock() = Some(command_sender);
    let task = HubConnectionTask::new(&shared.options, session, shared.events.clone());
    rt::spawn(task.run(messages, commands));

    Ok(response)
}
