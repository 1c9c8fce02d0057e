//! Signing in at identity providers.

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
use pia_server_testkit::client::{Answer, Client};
use pia_server_testkit::harness::{Setting, TestApp};
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};
use url::Url;

use browser::Browser;
use fake::Fake;

const HERE: &str = "https://pia.example";
const CALLBACK: &str = "https://pia.example/auth/callback";
const CLIENT_SECRET: &str = "kept between us: a+b & 100%/c";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const PROGRAM: &str = "http://localhost:49152/";
/// State that nobody who takes a query apart by hand gets right.
const STATE: &str = "a&b=c?d#e+f%20g ü/\"<>";

/// A server that knows this provider as `oidc`.
fn knowing(database: TestDatabase, authority: &str) -> Setting {
    provided(Setting::on(database), authority)
}

fn provided(setting: Setting, authority: &str) -> Setting {
    setting
        .with("Server__PublicUrl", HERE)
        .with("OAUTH_OIDC_CLIENT_ID", "pia")
        .with("OAUTH_OIDC_CLIENT_SECRET", CLIENT_SECRET)
        .with("OAuth__oidc__Authority", authority)
        .with("OAuth__Timeout", "2s")
}

async fn with_fake(database: TestDatabase) -> (Fake, TestApp) {
    let fake = Fake::start().await;
    let app = knowing(database, &fake.issuer).start().await;
    (fake, app)
}

/// The address that a client opens a browser with.
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
fn location(answer: &Answer) -> Url {
    assert_eq!(answer.status, 302, "{}", answer.text());
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    let location = answer.header("location").expect("a location");
    Url::parse(HERE).expect("a URL").join(location).expect("a URL")
}

fn parameter(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(it, _)| it == name).map(|(_, value)| value.into_owned())
}

/// Returns the parameters for a program on the browser's machine: each once,
/// and the state to the letter.
fn reported_to_program(answer: &Answer) -> Vec<(String, String)> {
    let location = answer.header("location").expect("a location");
    assert!(location.starts_with(&format!("{PROGRAM}?")), "{location}");
    assert_eq!(parameter(&self::location(answer), "state").as_deref(), Some(STATE));
    location_pairs(answer).into_iter().filter(|(name, _)| name != "state").collect()
}

fn location_pairs(answer: &Answer) -> Vec<(String, String)> {
    location(answer).query_pairs().into_owned().collect()
}

/// The error that a program gets, which always comes with a message.
fn error_reported(answer: &Answer) -> String {
    let reported = reported_to_program(answer);
    assert_eq!(reported.len(), 2, "{reported:?}");
    assert_eq!((reported[0].0.as_str(), reported[1].0.as_str()), ("error", "message"));
    assert!(!reported[1].1.is_empty());
    reported[0].1.clone()
}

fn code_reported(answer: &Answer) -> String {
    let reported = reported_to_program(answer);
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert_eq!((reported[0].0.as_str(), reported[0].1.len()), ("code", 43), "{reported:?}");
    reported[0].1.clone()
}

async fn redeem(caller: &Client, code: &str, verifier: &str) -> Answer {
    caller.post("/auth/token", &json!({ "code": code, "codeVerifier": verifier })).await
}

/// A browser that signs in at a fake provider and comes back.
async fn through(app: &TestApp, fake: &Fake) -> Answer {
    through_named(app, fake, "oidc").await
}

async fn through_named(app: &TestApp, fake: &Fake, provider: &str) -> Answer {
    browse(app, fake, &desktop_login_at(provider)).await
}

/// Opens a URL of any address of the server.
async fn browse(app: &TestApp, fake: &Fake, start: &str) -> Answer {
    let mut browser = Browser::of(app);
    let left = browser.get(start).await;
    let back = fake.admit(&location(&left));
    browser.get(&back).await
}

/// A server with a provider, for who looks at no more of it than where it
/// sends a browser.
pub(super) struct Provided {
    pub(super) app: TestApp,
    fake: Fake,
}

impl Provided {
    /// A server that knows its provider as `google`.
    pub(super) async fn by_google(database: TestDatabase) -> Self {
        let fake = Fake::start().await;
        let setting = Setting::on(database)
            .with("Server__PublicUrl", HERE)
            .with("OAUTH_GOOGLE_CLIENT_ID", "pia")
            .with("OAUTH_GOOGLE_CLIENT_SECRET", CLIENT_SECRET)
            .with("OAuth__google__Authority", &fake.issuer);
        Self { app: setting.start().await, fake }
    }

    /// Opens an address of the server in a browser, signs in at the provider,
    /// and reports where that leads.
    pub(super) async fn browse(&self, start: &str) -> Answer {
        browse(&self.app, &self.fake, start).await
    }
}

/// Somebody who came by a fake provider.
async fn signed_in(app: &TestApp, fake: &Fake) -> Client {
    let code = code_reported(&through(app, fake).await);
    let envelope = redeem(&app.stranger(), &code, VERIFIER).await;
    assert_eq!(envelope.status, 200, "{}", envelope.text());
    app.stranger().with_tokens(&envelope.body)
}

fn encoded(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}
