//! Tests of the gates, and of a panic behind them.

use std::time::Duration;

use actix_web::http::Method;
use actix_web::http::header::HeaderValue;
use actix_web::middleware::from_fn;
use actix_web::web::Data;
use actix_web::{App, HttpResponse, test};
use pia_identity::{
    ApiKeyAuthenticator, ConsoleSettings, MockAccountStore, MockApiKeyStore, MockRateLimitStore,
    MockScimTokenStore, MockSessionStarts, MockSessionStore, RateQuota, RefreshKeys, ScimTokens,
    SessionPorts, SessionSettings, Sessions, SigningKeys, TokenNames,
};
use pia_kernel::Timestamp;
use pia_policy::{Feature, Licence};
use pia_testkit::FixedClock;
use serde_json::Value;

use super::*;
use crate::{
    AcceptedCredentials, AccountScope, CountedAgainst, Docs, OpenApiDocument, ProofCheck, Quotas,
    ResponseDoc, TrustedProxies, surface, translate_errors, wire,
};

mod kb_manager;
mod service_key;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn licence(expires_at: Option<Timestamp>) -> LicenceState {
    LicenceState::Loaded(Licence {
        id: uuid::Uuid::nil(),
        edition: "Community".to_owned(),
        licensee: "A test".to_owned(),
        features: [Feature::Sync].into(),
        max_users: None,
        max_admins: None,
        issued_at: NOW,
        expires_at,
    })
}

fn new_gates(table: Vec<Route>, state: LicenceState) -> Data<Gates> {
    gates_for(MockAccountStore::new(), table, state)
}

fn gates_for(accounts: MockAccountStore, table: Vec<Route>, state: LicenceState) -> Data<Gates> {
    let clock: Arc<dyn Clock> = Arc::new(FixedClock(NOW));
    let quota = RateQuota { burst: 2, window: Duration::from_mins(1) };
    let quotas = Quotas {
        global: quota,
        auth: quota,
        local_auth: quota,
        sync: quota,
        ai: quota,
        feedback: quota,
        pod_uplink: quota,
        scim: quota,
    };
    let rate_limits = Arc::new(MockRateLimitStore::new());
    let caller_cache = CallerCache::new(Arc::new(accounts), Arc::clone(&clock));
    let keys = Arc::new(MockApiKeyStore::new());
    Data::new(Gates {
        table: RouteTable::new(table),
        tokens: tokens(Arc::clone(&clock)),
        keys: ApiKeyAuthenticator::new(keys, caller_cache.clone(), Arc::clone(&clock)),
        consoles: consoles(&caller_cache, &clock),
        proofs: SessionProofs::new(Arc::new(MockSessionStarts::new()), Arc::clone(&clock)),
        console_cookie: ConsoleCookie::from_public_url("http://here"),
        scim_tokens: ScimTokens::new(Arc::new(MockScimTokenStore::new()), Arc::clone(&clock)),
        callers: caller_cache,
        budgets: Arc::new(Budgets::new(quotas, rate_limits, Arc::clone(&clock))),
        licence: LiveSetting::new(state),
        setup_url: "http://here/admin/setup".to_owned(),
        rules: LiveSetting::new(AccountRules::default()),
        metrics_token: LiveSetting::new(Some(Secret::new("open sesame".to_owned()))),
        ingest_key: LiveSetting::new(Some(Secret::new("a service key".to_owned()))),
        clock,
        runner: Runner::on_current_runtime(),
    })
}

fn consoles(caller_cache: &CallerCache, clock: &Arc<dyn Clock>) -> ConsoleSessions {
    let keys = SigningKeys {
        current: Secret::new("another of thirty-two letters !!".to_owned()),
        previous: None,
    };
    let ports = SessionPorts {
        store: Arc::new(MockSessionStore::new()),
        caller_cache: caller_cache.clone(),
        access_tokens: tokens(Arc::clone(clock)),
        refresh_keys: RefreshKeys::derive(&keys),
    };
    let session_settings = LiveSetting::new(SessionSettings::default());
    let sessions = Sessions::new(ports, session_settings, Arc::clone(clock));
    let settings = LiveSetting::new(ConsoleSettings::default());
    ConsoleSessions::new(sessions, tokens(Arc::clone(clock)), settings)
}

fn tokens(clock: Arc<dyn Clock>) -> AccessTokens {
    let current = Secret::new("an example of thirty-two letters".to_owned());
    let names = TokenNames { issuer: "i".to_owned(), audience: "a".to_owned() };
    let settings = LiveSetting::new(SessionSettings::default());
    AccessTokens::new(&SigningKeys { current, previous: None }, names, settings, clock)
}

fn route(path: &'static str) -> Route {
    Route {
        method: Method::GET,
        path,
        access: Access::Anonymous,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Complete,
        feature: None,
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::Unlimited,
        body_limit: 0,
        handler: |route| route.to(HttpResponse::Ok),
        docs: Docs {
            tag: "test",
            summary: "",
            request: None,
            answer: ResponseDoc::Json(wire::<String>),
            refusals: &[],
        },
    }
}

struct RecordedError {
    status: u16,
    body: Value,
    request_id: Option<String>,
}

async fn get(rows: fn() -> Vec<Route>, state: LicenceState, path: &str) -> RecordedError {
    send(rows, state, test::TestRequest::get().uri(path)).await
}

async fn send(
    rows: fn() -> Vec<Route>,
    state: LicenceState,
    request: test::TestRequest,
) -> RecordedError {
    send_through(new_gates(rows(), state), rows, request).await
}

async fn send_through(
    gates: Data<Gates>,
    rows: fn() -> Vec<Route>,
    request: test::TestRequest,
) -> RecordedError {
    let app = App::new()
        .app_data(gates)
        .app_data(Data::new(TrustedProxies::default()))
        .wrap(from_fn(admit))
        .wrap(from_fn(translate_errors))
        .wrap(from_fn(surface))
        .configure(|config| RouteTable::new(rows()).register(config))
        .route("/beside", web::get().to(HttpResponse::Ok));
    let service = test::init_service(app).await;
    let response = match test::try_call_service(&service, request.to_request()).await {
        Ok(response) => response.map_into_boxed_body().into_parts().1,
        Err(err) => err.error_response(),
    };
    let status = response.status().as_u16();
    let request_id =
        response.headers().get("x-request-id").and_then(|it| it.to_str().ok()).map(str::to_owned);
    let body = actix_web::body::to_bytes(response.into_body()).await.unwrap_or_default();
    RecordedError { status, body: serde_json::from_slice(&body).unwrap_or_default(), request_id }
}

fn error(response: &RecordedError) -> (u16, &str) {
    (response.status, response.body["error"].as_str().unwrap_or_default())
}

#[actix_web::test]
async fn a_route_outside_the_table_is_not_reached() {
    let response = get(|| vec![route("/in")], licence(None), "/beside").await;

    assert_eq!(error(&response), (404, "not_found"));
}

#[actix_web::test]
async fn a_panic_returns_500_with_the_request_id() {
    let rows = || {
        vec![Route {
            handler: |route| route.to(|| async { panic!("on purpose") as HttpResponse }),
            ..route("/panics")
        }]
    };

    let response = get(rows, licence(None), "/panics").await;

    assert_eq!(error(&response), (500, "internal_error"));
    assert!(response.request_id.is_some());
}

#[actix_web::test]
async fn a_panic_is_reported_in_openais_form_to_its_clients() {
    let rows = || {
        vec![Route {
            handler: |route| route.to(|| async { panic!("on purpose") as HttpResponse }),
            ..route("/v1/panics")
        }]
    };

    let response = get(rows, licence(None), "/v1/panics").await;

    assert_eq!(response.status, 500);
    assert_eq!(response.body["error"]["code"], "internal_error");
}

#[actix_web::test]
async fn another_method_is_not_allowed() {
    let request = test::TestRequest::post().uri("/in");

    let response = send(|| vec![route("/in")], licence(None), request).await;

    assert_eq!(error(&response), (405, "method_not_allowed"));
}

#[actix_web::test]
async fn an_unlicensed_server_serves_only_its_setup() {
    let rows = || vec![route("/in"), Route { licensing: Licensing::NotNeeded, ..route("/setup") }];

    for path in ["/in", "/nowhere"] {
        let response = get(rows, LicenceState::Missing, path).await;

        assert_eq!(error(&response), (403, "no_license"), "{path}");
        assert_eq!(response.body["setupUrl"], "http://here/admin/setup");
    }
    assert_eq!(get(rows, LicenceState::Missing, "/setup").await.status, 200);
}

#[actix_web::test]
async fn an_expired_licence_allows_reading_only() {
    let rows = || vec![route("/read"), Route { licensing: Licensing::InForce, ..route("/write") }];

    let reading = get(rows, licence(Some(NOW)), "/read").await;
    let writing = get(rows, licence(Some(NOW)), "/write").await;

    assert_eq!(reading.status, 200);
    assert_eq!(error(&writing), (403, "license_expired"));
}

#[actix_web::test]
async fn an_unlicensed_feature_is_named() {
    let rows = || vec![Route { feature: Some(Feature::AiProxy), ..route("/ai") }];

    let response = get(rows, licence(None), "/ai").await;

    assert_eq!(error(&response), (403, "feature_not_licensed"));
    assert_eq!(response.body["feature"], "AiProxy");
}

#[actix_web::test]
async fn a_remote_caller_needs_the_metrics_token() {
    let rows = || vec![Route { access: Access::Operator, ..route("/metrics") }];
    let with_token = |token: &str| {
        test::TestRequest::get().uri("/metrics").insert_header(("authorization", token))
    };

    let admitted = send(rows, licence(None), with_token("Bearer open sesame")).await;
    let refused_response = send(rows, licence(None), with_token("Bearer open barley")).await;

    assert_eq!(admitted.status, 200);
    assert_eq!(refused_response.status, 401);
}

#[actix_web::test]
async fn an_invalid_bearer_token_does_not_close_an_anonymous_route() {
    let request =
        test::TestRequest::get().uri("/in").insert_header(("authorization", "Bearer anonymous"));

    assert_eq!(send(|| vec![route("/in")], licence(None), request).await.status, 200);
}

#[actix_web::test]
async fn a_websocket_upgrade_is_refused_before_its_body_is_read() {
    let send_upgrade = |values: &[&[u8]]| {
        let mut request = test::TestRequest::get().uri("/in");
        for value in values {
            let value = HeaderValue::from_bytes(value).unwrap();
            request = request.append_header((UPGRADE, value));
        }
        send(|| vec![route("/in")], licence(None), request)
    };

    for values in [
        &[&b"WebSocket"[..]][..],
        &[b"h2c", b"websocket"],
        &[b"h2c, websocket"],
        &[b"websocket/13"],
        &[b"h2c", b"\xff"],
    ] {
        assert_eq!(
            error(&send_upgrade(values).await),
            (400, "upgrade_not_supported"),
            "{values:?}"
        );
    }
    assert_eq!(send_upgrade(&[b"h2c"]).await.status, 200);
}
