//! The outermost layer: a request's id, what is logged and counted of it, and
//! a panic that becomes an answer.

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use actix_web::Error;
use actix_web::HttpMessage;
use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::InternalError;
use actix_web::http::ConnectionType;
use actix_web::http::header::{
    ACCEPT_LANGUAGE, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue,
    REFERRER_POLICY, STRICT_TRANSPORT_SECURITY, USER_AGENT, X_CONTENT_TYPE_OPTIONS,
};
use actix_web::middleware::Next;
use actix_web::web::Data;
use futures_util::FutureExt;
use pia_identity::SessionRef;
use pia_kernel::{Language, RequestContext};
use tracing::Instrument;

use crate::access_log::{Entry, Logged};
use crate::dialect::Dialect;
use crate::{
    ApiError, BasePath, ClientAddress, Draining, Metrics, PresentedCredential, RequestId,
    StrictTransport, TrustedProxies,
};

/// Longer ones are cut.
const MAX_USER_AGENT_CHARS: usize = 256;

/// Headers of responses that set none themselves: they are data, which loads
/// and frames nothing wherever a browser shows it.
const DEFAULT_HEADERS: [(HeaderName, &str); 3] = [
    (CACHE_CONTROL, "no-store"),
    (CONTENT_SECURITY_POLICY, "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"),
    (REFERRER_POLICY, "no-referrer"),
];

/// Middleware; wrap it last, so that it runs first.
pub async fn surface<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<Logged<B>>, Error> {
    let started = Instant::now();
    let id = RequestId::generate();
    let proxies = request.app_data::<Data<TrustedProxies>>();
    let client = proxies.map(|it| it.client_of(&request));
    let proxy_id = proxies
        .filter(|it| it.include_peer_of(&request))
        .and_then(|_trusted| RequestId::of_proxy(request.headers()))
        .map(str::to_owned);
    let metrics = request.app_data::<Data<Metrics>>().cloned();
    let in_flight = metrics.as_ref().map(|it| it.begin());
    let draining = request.app_data::<Data<Draining>>().cloned();
    let method = request.method().clone();
    let dialect = Dialect::from_path(path(&request));
    {
        let mut extensions = request.extensions_mut();
        extensions.insert(id.clone());
        if let Some(client) = client {
            extensions.insert(client);
        }
    }
    let span =
        tracing::info_span!("request", request.id = id.as_str(), request.proxy_id = proxy_id);
    let origin = request_context(&request, &id);
    let answering = origin.scope(next.call(request)).instrument(span.clone());
    let answered = AssertUnwindSafe(answering).catch_unwind().await;
    let mut entry = Entry {
        id: id.clone(),
        proxy_id,
        span,
        method,
        route: "-".to_owned(),
        status: 500,
        client: client.and_then(|it| it.ip),
        user: None,
        started,
        metrics,
        _in_flight: in_flight,
    };
    // Nothing outlives a request here that could be seen half changed.
    let Ok(answer) = answered else {
        return Err(after_panic(&id, &entry, dialect));
    };
    let mut answer = answer?;
    set_common_headers(&mut answer, &id);
    let strict = answer.request().app_data::<Data<StrictTransport>>().cloned();
    if let Some(policy) = strict.as_ref().and_then(|it| it.header()) {
        answer.headers_mut().insert(STRICT_TRANSPORT_SECURITY, policy.clone());
    }
    if draining.is_some_and(|it| it.has_begun()) {
        answer.response_mut().head_mut().set_connection_type(ConnectionType::Close);
    }
    entry.status = answer.status().as_u16();
    entry.route = answer.request().match_pattern().unwrap_or(entry.route);
    entry.user = session_ref(&answer).map(|it| it.user);
    Ok(answer.map_body(|_, body| Logged::new(body, entry)))
}

/// The path of a request, without the base path that is taken off later.
fn path(request: &ServiceRequest) -> &str {
    let base = request.app_data::<Data<BasePath>>();
    base.and_then(|it| it.strip(request.path())).unwrap_or_else(|| request.path())
}

/// Returns the context that audit entries and emails record of their request.
fn request_context(request: &ServiceRequest, id: &RequestId) -> RequestContext {
    let text = |name| request.headers().get(name).and_then(|it| it.to_str().ok());
    let agent =
        text(USER_AGENT).map(|it| it.chars().take(MAX_USER_AGENT_CHARS).collect::<String>());
    RequestContext {
        address: request.extensions().get::<ClientAddress>().and_then(|it| it.ip),
        agent: agent.filter(|it| !it.is_empty()).map(Into::into),
        request: Some(id.as_str().into()),
        language: text(ACCEPT_LANGUAGE).and_then(Language::preferred),
    }
}

/// Adds the headers of every response. Nothing here is for caches unless it
/// says so itself: responses hold tokens and what people wrote.
fn set_common_headers<B>(answer: &mut ServiceResponse<B>, id: &RequestId) {
    let headers = answer.headers_mut();
    headers.insert(RequestId::HEADER, id.header_value());
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    for (name, value) in DEFAULT_HEADERS {
        if !headers.contains_key(&name) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
}

fn session_ref<B>(answer: &ServiceResponse<B>) -> Option<SessionRef> {
    answer.request().extensions().get::<PresentedCredential>().and_then(|it| it.0)
}

/// Left alone, a panic would close the connection, and with it what else the
/// client had under way there.
fn after_panic(id: &RequestId, entry: &Entry, dialect: Dialect) -> Error {
    let reported = ApiError::internal("a handler panicked");
    let mut response = reported.response(dialect);
    response.headers_mut().insert(RequestId::HEADER, id.header_value());
    entry.write(0);
    InternalError::from_response(reported, response).into()
}
