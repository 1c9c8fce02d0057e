//! Outermost layer: request ids, logging, metrics, and responses after a panic.
//!
//! Before the request: an id, the client's address and the request's context. After
//! it: the headers of every response and the entry of the access log, which is
//! written when the body has ended (`access_log.rs`).

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

/// Maximum length of a recorded user agent; longer ones are truncated.
const MAX_USER_AGENT_CHARS: usize = 256;

/// Default headers of responses: they are data, which loads and frames nothing
/// in a browser.
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
    let context = request_context(&request, &id);
    let handling = context.scope(next.call(request)).instrument(span.clone());
    let result = AssertUnwindSafe(handling).catch_unwind().await;

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

    // No value that is used after the panic could be left inconsistent.
    let Ok(handled) = result else {
        return Err(after_panic(&id, &entry, dialect));
    };

    let mut response = handled?;
    set_common_headers(&mut response, &id);
    let strict = response.request().app_data::<Data<StrictTransport>>().cloned();
    if let Some(policy) = strict.as_ref().and_then(|it| it.header()) {
        response.headers_mut().insert(STRICT_TRANSPORT_SECURITY, policy.clone());
    }

    if draining.is_some_and(|it| it.is_set()) {
        response.response_mut().head_mut().set_connection_type(ConnectionType::Close);
    }

    entry.status = response.status().as_u16();
    entry.route = response.request().match_pattern().unwrap_or(entry.route);
    entry.user = session_ref(&response).map(|it| it.user);

    Ok(response.map_body(|_, body| Logged::new(body, entry)))
}

/// Returns the path of a request without the base path, which is stripped
/// later.
fn path(request: &ServiceRequest) -> &str {
    let base = request.app_data::<Data<BasePath>>();
    base.and_then(|it| it.strip(request.path())).unwrap_or_else(|| request.path())
}

/// Returns the context that audit entries and emails record.
fn request_context(request: &ServiceRequest, id: &RequestId) -> RequestContext {
    let text = |name| request.headers().get(name).and_then(|it| it.to_str().ok());
    let agent = text(USER_AGENT)
        .map(|it| it.chars().take(MAX_USER_AGENT_CHARS).collect::<String>())
        .filter(|it| !it.is_empty());
    RequestContext {
        address: request.extensions().get::<ClientAddress>().and_then(|it| it.ip),
        agent: agent.map(Into::into),
        request: Some(id.as_str().into()),
        language: text(ACCEPT_LANGUAGE).and_then(Language::preferred),
    }
}

/// Adds the headers of every response. By default, no response may be cached:
/// it may contain tokens or personal data.
fn set_common_headers<B>(response: &mut ServiceResponse<B>, id: &RequestId) {
    let headers = response.headers_mut();
    headers.insert(RequestId::HEADER, id.header_value());
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    for (name, value) in DEFAULT_HEADERS {
        if !headers.contains_key(&name) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
}

fn session_ref<B>(response: &ServiceResponse<B>) -> Option<SessionRef> {
    response.request().extensions().get::<PresentedCredential>().and_then(|it| it.0)
}

/// Returns the response after a panic, which would otherwise close the
/// connection together with the client's other requests on it.
fn after_panic(id: &RequestId, entry: &Entry, dialect: Dialect) -> Error {
    let error = ApiError::internal("a handler panicked");
    error.log();
    let mut response = error.response(dialect);
    response.headers_mut().insert(RequestId::HEADER, id.header_value());
    entry.write(0);
    InternalError::from_response(error, response).into()
}
