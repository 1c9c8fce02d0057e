//! Sign-ins at identity providers.

mod accounts;
mod arriving;
mod beginning;
mod browser;
mod codes;
mod desktop;
mod fake;
mod lies;
mod node;
mod outages;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};
use url::Url;

use browser::Browser;
use fake::Fake;

const PUBLIC_URL: &str = "https://pia.example";
const CALLBACK: &str = "https://pia.example/auth/callback";
const CLIENT_SECRET: &str = "kept between us: a+b & 100%/c";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const PROGRAM: &str = "http://localhost:49152/";
/// State with characters that only a proper query parser decodes correctly.
const STATE: &str = "a&b=c?d#e+f%20g ü/\"<>";

/// Configures a server with a provider named `oidc`.
fn with_provider(database: TestDatabase, authority: &str) -> TestConfig {
    configure_provider(TestConfig::on(database), authority)
}

fn configure_provider(setting: TestConfig, authority: &str) -> TestConfig {
    setting
        .with("Server__PublicUrl", PUBLIC_URL)
        .with("OAUTH_OIDC_CLIENT_ID", "pia")
        .with("OAUTH_OIDC_CLIENT_SECRET", CLIENT_SECRET)
        .with("OAuth__oidc__Authority", authority)
        .with("OAuth__Timeout", "2s")
}

async fn with_fake(database: TestDatabase) -> (Fake, TestApp) {
    let fake = Fake::start().await;
    let app = with_provider(database, &fake.issuer).start().await;
    (fake, app)
}

/// Returns the path that a client opens a browser with.
fn login(parameters: &[(&str, &str)]) -> String {
    let mut url = Url::parse("http://pia.example/auth/login").expect("a URL");
    url.query_pairs_mut().extend_pairs(parameters);
    path_of(&url)
}

/// Returns the sign-in URL as the desktop client writes it.
fn desktop_login() -> String {
    desktop_login_at("oidc")
}

fn desktop_login_at(provider: &str) -> String {
    login(&[
        ("provider", provider),
        ("redirect_uri", PROGRAM),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
        ("state", STATE),
    ])
}

fn path_of(url: &Url) -> String {
    url.query().map_or(url.path().to_owned(), |query| format!("{}?{query}", url.path()))
}

/// Returns the target of a redirect.
fn location(response: &TestResponse) -> Url {
    assert_eq!(response.status, 302, "{}", response.text());
    assert_eq!(response.header("cache-control"), Some("no-store"));
    assert_eq!(response.header("referrer-policy"), Some("no-referrer"));
    let location = response.header("location").expect("a location");
    Url::parse(PUBLIC_URL).expect("a URL").join(location).expect("a URL")
}

fn parameter(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(it, _)| it == name).map(|(_, value)| value.into_owned())
}

/// Returns the parameters of a redirect to a program, except the state, which
/// must be unchanged.
fn program_parameters(response: &TestResponse) -> Vec<(String, String)> {
    let location = response.header("location").expect("a location");
    assert!(location.starts_with(&format!("{PROGRAM}?")), "{location}");
    assert_eq!(parameter(&self::location(response), "state").as_deref(), Some(STATE));
    location_pairs(response).into_iter().filter(|(name, _)| name != "state").collect()
}

fn location_pairs(response: &TestResponse) -> Vec<(String, String)> {
    location(response).query_pairs().into_owned().collect()
}

/// Returns the error in a redirect to a program, which must have a message.
fn redirect_error(response: &TestResponse) -> String {
    let parameters = program_parameters(response);
    assert_eq!(parameters.len(), 2, "{parameters:?}");
    assert_eq!(parameters[0].0, "error");
    assert_eq!(parameters[1].0, "message");
    assert!(!parameters[1].1.is_empty());
    parameters[0].1.clone()
}

fn redirect_code(response: &TestResponse) -> String {
    let parameters = program_parameters(response);
    assert_eq!(parameters.len(), 1, "{parameters:?}");
    let (name, code) = &parameters[0];
    assert_eq!(name, "code", "{parameters:?}");
    assert_eq!(code.len(), 43, "{parameters:?}");
    code.clone()
}

async fn redeem(client: &Client, code: &str, verifier: &str) -> TestResponse {
    client.post("/auth/token", &json!({ "code": code, "codeVerifier": verifier })).await
}

/// Signs in at a fake provider in a browser, and returns the response of the
/// callback.
async fn sign_in_at_provider(app: &TestApp, fake: &Fake) -> TestResponse {
    sign_in_at(app, fake, "oidc").await
}

async fn sign_in_at(app: &TestApp, fake: &Fake, provider: &str) -> TestResponse {
    browse(app, fake, &desktop_login_at(provider)).await
}

/// Opens a path of the server in a browser and signs in at the provider.
async fn browse(app: &TestApp, fake: &Fake, start: &str) -> TestResponse {
    let mut browser = Browser::of(app);
    let redirect = browser.get(start).await;
    let callback = fake.admit(&location(&redirect));
    browser.get(&callback).await
}

/// Server with a fake provider.
pub(super) struct ServerWithProvider {
    pub(super) app: TestApp,
    fake: Fake,
}

impl ServerWithProvider {
    /// Starts a server whose provider is named `google`.
    pub(super) async fn google(database: TestDatabase) -> Self {
        let fake = Fake::start().await;
        let setting = TestConfig::on(database)
            .with("Server__PublicUrl", PUBLIC_URL)
            .with("OAUTH_GOOGLE_CLIENT_ID", "pia")
            .with("OAUTH_GOOGLE_CLIENT_SECRET", CLIENT_SECRET)
            .with("OAuth__google__Authority", &fake.issuer);
        Self { app: setting.start().await, fake }
    }

    /// Opens a path of the server in a browser, signs in at the provider, and
    /// returns the response of the callback.
    pub(super) async fn browse(&self, start: &str) -> TestResponse {
        browse(&self.app, &self.fake, start).await
    }
}

/// Returns a client that signed in at a fake provider.
async fn signed_in(app: &TestApp, fake: &Fake) -> Client {
    let code = redirect_code(&sign_in_at_provider(app, fake).await);
    let envelope = redeem(&app.anonymous(), &code, VERIFIER).await;
    assert_eq!(envelope.status, 200, "{}", envelope.text());
    app.anonymous().with_tokens(&envelope.body)
}

fn encoded(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}
