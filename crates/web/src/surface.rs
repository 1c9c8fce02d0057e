//! Outermost layer: request ids, logging, metrics, and responses after a panic.
//!
//! Before the request: an id, the client's address and the request's context. After
//! it: the headers of every response and the entry of the access log, which is
//! written when the body has ended (`access_log.rs`).

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::InternalError;
use actix_web::http::ConnectionType;
use actix_web::http::header::{
    ACCEPT_LANGUAGE, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue,
    REFERRER_POLICY, STRICT_TRANSPORT_SECURITY, USER_AGENT, X_CONTENT_TYPE_OPTIONS,
};
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{Error, HttpMessage, HttpResponse};
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
    let client = client_address(&request);
    let mut entry = begin_entry(&request, client);
    let headers = CommonHeaders::new(&request, &entry.id);
    let dialect = Dialect::from_path(path(&request));
    store_extensions(&request, &entry.id, client);

    let context = request_context(&request, &entry.id);
    let handling = context.scope(next.call(request)).instrument(entry.span.clone());
    // No value that is used after the panic could be left inconsistent.
    let result = AssertUnwindSafe(handling).catch_unwind().await;
    let mut response = match result.unwrap_or_else(|_panic| Err(panic_error(dialect))) {
        Ok(response) => response,
        Err(error) => return Err(finish_error(error, entry, &headers)),
    };

    headers.add_to(response.response_mut());
    entry.status = response.status().as_u16();
    entry.route = response.request().match_pattern().unwrap_or(entry.route);
    entry.user = session_ref(&response).map(|it| it.user);

    Ok(response.map_body(|_, body| Logged::new(body, entry)))
}

/// Returns the address of the client; `None` without a list of proxies.
fn client_address(request: &ServiceRequest) -> Option<ClientAddress> {
    let proxies = request.app_data::<Data<TrustedProxies>>()?;
    Some(proxies.client_of(request))
}

/// Begins the entry of the access log. Status, route and user are set when the response
/// is ready; until then they have the values for a panic.
fn begin_entry(request: &ServiceRequest, client: Option<ClientAddress>) -> Entry {
    let id = RequestId::generate();
    let proxy_id = id_of_proxy(request);
    let span =
        tracing::info_span!("request", request.id = id.as_str(), request.proxy_id = proxy_id);
    let metrics = request.app_data::<Data<Metrics>>().cloned();

    Entry {
        id,
        proxy_id,
        span,
        method: request.method().clone(),
        route: "-".to_owned(),
        status: 500,
        client: client.and_then(|it| it.ip),
        user: None,
        started: Instant::now(),
        _in_flight: metrics.as_ref().map(|it| it.begin()),
        metrics,
    }
}

/// Returns the id that a trusted proxy gave the request.
fn id_of_proxy(request: &ServiceRequest) -> Option<String> {
    let proxies = request.app_data::<Data<TrustedProxies>>()?;
    if !proxies.include_peer_of(request) {
        return None;
    }
    RequestId::of_proxy(request.headers()).map(str::to_owned)
}

/// Stores what extractors and gates read from the request.
fn store_extensions(request: &ServiceRequest, id: &RequestId, client: Option<ClientAddress>) {
    let mut extensions = request.extensions_mut();
    extensions.insert(id.clone());
    if let Some(client) = client {
        extensions.insert(client);
    }
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

/// Headers of every response. They are chosen before the request is handled, which
/// consumes it.
struct CommonHeaders {
    id: RequestId,
    strict_transport: Option<Data<StrictTransport>>,
    draining: Option<Data<Draining>>,
}

impl CommonHeaders {
    fn new(request: &ServiceRequest, id: &RequestId) -> Self {
        Self {
            id: id.clone(),
            strict_transport: request.app_data().cloned(),
            draining: request.app_data().cloned(),
        }
    }

    /// Adds the headers to a response. By default, no response may be cached: it may
    /// contain tokens or personal data.
    fn add_to<B>(&self, response: &mut HttpResponse<B>) {
        let headers = response.headers_mut();
        headers.insert(RequestId::HEADER, self.id.header_value());
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        for (name, value) in DEFAULT_HEADERS {
            if !headers.contains_key(&name) {
                headers.insert(name, HeaderValue::from_static(value));
            }
        }

        if let Some(policy) = self.strict_transport.as_ref().and_then(|it| it.header()) {
            headers.insert(STRICT_TRANSPORT_SECURITY, policy.clone());
        }

        if self.draining.as_ref().is_some_and(|it| it.is_set()) {
            response.head_mut().set_connection_type(ConnectionType::Close);
        }
    }
}

fn session_ref<B>(response: &ServiceResponse<B>) -> Option<SessionRef> {
    response.request().extensions().get::<PresentedCredential>().and_then(|it| it.0)
}

/// Middleware of each route: a panic of its handler becomes an error like any other, which the
/// other middleware translates and renders.
pub(crate) async fn catch_panics(
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> Result<ServiceResponse, Error> {
    // Only possible within a route: the router needs to own the request alone.
    let request_ref = request.request().clone();
    // No value that is used after the panic could be left inconsistent.
    let result = AssertUnwindSafe(next.call(request)).catch_unwind().await;
    result.unwrap_or_else(|_panic| {
        let error = ApiError::internal("a handler panicked");
        Ok(ServiceResponse::from_err(error, request_ref))
    })
}

/// Returns the error after a panic of a middleware, which would otherwise close the connection
/// together with the client's other requests on it.
fn panic_error(dialect: Dialect) -> Error {
    let error = ApiError::internal("a middleware panicked");
    error.log();
    let response = error.response(dialect);
    InternalError::from_response(error, response).into()
}

/// Adds the headers to the response of an error, and writes its log entry. actix-web
/// sends that response without a `ServiceResponse`, whose body would write the entry.
fn finish_error(error: Error, mut entry: Entry, headers: &CommonHeaders) -> Error {
    let mut response = error.error_response();
    headers.add_to(&mut response);
    entry.status = response.status().as_u16();
    entry.write(0);
    InternalError::from_response(error, response).into()
}

#[cfg(test)]
mod tests {
    use actix_web::body::to_bytes;
    use actix_web::middleware::from_fn;
    use actix_web::{App, test};

    use super::*;
    use crate::admit;

    #[actix_web::test]
    async fn an_error_of_an_inner_middleware_is_counted_and_has_the_common_headers() {
        let metrics = Data::new(Metrics::default());
        // `admit` fails without gates.
        let app =
            App::new().app_data(Data::clone(&metrics)).wrap(from_fn(admit)).wrap(from_fn(surface));
        let service = test::init_service(app).await;

        let request = test::TestRequest::get().uri("/").to_request();
        let error = test::try_call_service(&service, request).await.err().unwrap();

        let response = error.error_response();
        assert_eq!(response.status().as_u16(), 500);
        assert!(response.headers().contains_key(RequestId::HEADER));
        assert_eq!(response.headers().get(X_CONTENT_TYPE_OPTIONS).unwrap(), "nosniff");
        let counter = r#"pia_http_requests_total{method="GET",route="-",status="500"} 1"#;
        assert!(metrics.text().unwrap().contains(counter));
    }

    #[actix_web::test]
    async fn a_panic_of_a_middleware_is_reported_in_the_form_of_the_path() {
        let panicking = |_: ServiceRequest, _: Next<BoxBody>| async {
            panic!("on purpose") as Result<ServiceResponse, Error>
        };
        let app = App::new().wrap(from_fn(panicking)).wrap(from_fn(surface));
        let service = test::init_service(app).await;

        let request = test::TestRequest::get().uri("/v1/models").to_request();
        let error = test::try_call_service(&service, request).await.err().unwrap();

        let response = error.error_response();
        assert_eq!(response.status().as_u16(), 500);
        assert!(response.headers().contains_key(RequestId::HEADER));
        let body = to_bytes(response.into_body()).await.unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["error"]["code"], "internal_error");
    }
}
