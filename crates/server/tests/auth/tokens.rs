//! Validation of access tokens.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::client::{Client, keys};
use pia_server_testkit::harness::{JWT_KEY, PASSWORD, TestApp, TestConfig};
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use ring::hmac;
use serde_json::{Value, json};

use super::{refresh, refresh_token};

const NEW_KEY: &str = "wU8sYv3Rk6Zc1Xn9Jt4Qf7Mh2Lb5Pd0G";

/// Access token that a test can change and sign again.
struct Forged {
    header: Value,
    claims: Value,
}

impl Forged {
    /// Decodes the access token that the server issued to a client.
    fn of(client: &Client) -> Self {
        let token = access(client);
        let mut parts = token.split('.').map(|it| {
            let json = URL_SAFE_NO_PAD.decode(it).expect("base64url");
            serde_json::from_slice(&json).unwrap_or_default()
        });
        let header = parts.next().expect("a header");
        let claims = parts.next().expect("claims");
        Self { header, claims }
    }

    fn header(mut self, name: &str, value: Option<Value>) -> Self {
        put(&mut self.header, name, value);
        self
    }

    fn claim(mut self, name: &str, value: Option<Value>) -> Self {
        put(&mut self.claims, name, value);
        self
    }

    fn text(&self) -> String {
        let encode = |it: &Value| URL_SAFE_NO_PAD.encode(it.to_string());
        format!("{}.{}", encode(&self.header), encode(&self.claims))
    }

    fn signed_by(self, algorithm: hmac::Algorithm, key: &str) -> String {
        let text = self.text();
        let key = hmac::Key::new(algorithm, key.as_bytes());
        let signature = URL_SAFE_NO_PAD.encode(hmac::sign(&key, text.as_bytes()));
        format!("{text}.{signature}")
    }

    fn signed(self) -> String {
        self.signed_by(hmac::HMAC_SHA256, JWT_KEY)
    }
}

fn put(object: &mut Value, name: &str, value: Option<Value>) {
    let fields = object.as_object_mut().expect("an object");
    match value {
        Some(value) => drop(fields.insert(name.to_owned(), value)),
        None => drop(fields.remove(name)),
    }
}

fn access(client: &Client) -> &str {
    client.access.as_deref().expect("an access token")
}

async fn status(app: &TestApp, token: &str) -> u16 {
    let client = Client { access: Some(token.to_owned()), ..app.anonymous() };
    client.get("/auth/me").await.status
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_contains_the_standard_claims_only() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;

    let Forged { header, claims } = Forged::of(&ada);

    assert_eq!(header["alg"], "HS256");
    assert_eq!(header["typ"], "JWT");
    assert!(header["kid"].is_string());
    assert_eq!(keys(&claims), ["aud", "exp", "iat", "iss", "sid", "sub"]);
    assert_eq!(claims["iss"], "pia-server");
    assert_eq!(claims["aud"], "pia-client");
    assert_eq!(claims["sub"].as_str(), ada.user.as_deref());

    let from = claims["iat"].as_i64();
    let to = claims["exp"].as_i64();
    assert_eq!(to.expect("an end") - from.expect("a beginning"), 900);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_was_tampered_with_is_refused() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;
    let bob = app.signed_in().await;
    let real = || Forged::of(&ada);
    let valid_token = access(&ada);
    let (signed, signature) = valid_token.rsplit_once('.').expect("a signature");
    let cut = valid_token.strip_suffix(|_: char| true).expect("a token");
    let bobs = json!(bob.user);
    let text = |it: &str| Some(json!(it));

    assert_eq!(status(&app, &real().signed()).await, 200, "an unchanged forged token is valid");
    for (what, token) in [
        ("no signature", signed.to_owned()),
        ("an empty signature", format!("{signed}.")),
        ("cut", cut.to_owned()),
        ("longer", format!("{valid_token}A")),
        ("another's claims", {
            let other = real().claim("sub", Some(bobs.clone())).text();
            format!("{other}.{signature}")
        }),
        ("nobody's algorithm", format!("{}.", real().header("alg", text("none")).text())),
        ("a signed none", real().header("alg", text("none")).signed()),
        ("HS512", real().header("alg", text("HS512")).signed_by(hmac::HMAC_SHA512, JWT_KEY)),
        ("RS256", real().header("alg", text("RS256")).signed()),
        ("another key", real().signed_by(hmac::HMAC_SHA256, NEW_KEY)),
        ("an empty key", real().signed_by(hmac::HMAC_SHA256, "")),
        ("no kid", real().header("kid", None).signed()),
        ("another kid", real().header("kid", text("other")).signed()),
        ("another issuer", real().claim("iss", text("pia-servant")).signed()),
        ("another audience", real().claim("aud", text("pia-admin")).signed()),
        ("two audiences", real().claim("aud", Some(json!(["pia-client", "x"]))).signed()),
        ("no end", real().claim("exp", None).signed()),
        ("ended", real().claim("exp", Some(json!(1))).signed()),
        ("from the future", real().claim("iat", Some(json!(9_999_999_999_i64))).signed()),
        ("another's session", real().claim("sub", Some(bobs)).signed()),
        ("no session", real().claim("sid", None).signed()),
        ("an unknown session", {
            let unknown = json!(uuid::Uuid::now_v7());
            real().claim("sid", Some(unknown)).signed()
        }),
        ("no user", real().claim("sub", text("admin")).signed()),
        ("too long", real().claim("more", text(&"x".repeat(5000))).signed()),
    ] {
        assert_eq!(status(&app, &token).await, 401, "{what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_access_token_expires_as_stated() {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app =
        TestConfig::on(TestDatabase::sqlite()).at(Arc::<ManualClock>::clone(&clock)).start().await;
    let ada = app.signed_in().await;

    clock.advance(Duration::from_secs(899));
    let previous_response = ada.get("/auth/me").await;
    clock.advance(Duration::from_secs(2));
    let later_response = ada.get("/auth/me").await;
    let refreshed_client =
        app.anonymous().with_tokens(&refresh(&app.anonymous(), refresh_token(&ada)).await.body);

    assert_eq!(previous_response.status, 200);
    assert_eq!(later_response.refusal(), (401, "unauthorized"));
    assert_eq!(refreshed_client.get("/auth/me").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_lifetime_applies_to_new_tokens() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;

    app.reload(&json!({ "Jwt": { "AccessTokenLifetime": "60s" } }));
    let refresh_response = refresh(&app.anonymous(), refresh_token(&ada)).await;

    assert_eq!(refresh_response.status, 200);
    assert_eq!(refresh_response.body["expiresIn"], 60);
    let claims = Forged::of(&app.anonymous().with_tokens(&refresh_response.body)).claims;
    let from = claims["iat"].as_i64();
    let to = claims["exp"].as_i64();
    assert_eq!(to.expect("an end") - from.expect("a beginning"), 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn issuer_and_audience_are_configurable() {
    let app = TestConfig::on(TestDatabase::sqlite())
        .with("Jwt__Issuer", "another")
        .with("Jwt__Audience", "others")
        .start()
        .await;
    let ada = app.signed_in().await;

    let valid_token = Forged::of(&ada).claim("iss", Some(json!("pia-server"))).signed();

    assert_eq!(ada.get("/auth/me").await.status, 200);
    let claims = Forged::of(&ada).claims;
    assert_eq!(claims["iss"], "another");
    assert_eq!(claims["aud"], "others");
    assert_eq!(status(&app, &valid_token).await, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_key_invalidates_all_tokens_unless_the_previous_one_is_configured() {
    let old = TestApp::spawn().await;
    let ada = old.signed_in().await;
    let bob = old.signed_in().await;
    let new = || TestConfig::beside(&old).with("Jwt__SecretKey", NEW_KEY);
    let without_old_key = new().start().await;
    let with_old_key = new().with("Jwt__PreviousSecretKey", JWT_KEY).start().await;

    let rejected = (
        status(&without_old_key, access(&ada)).await,
        refresh(&without_old_key.anonymous(), refresh_token(&ada)).await,
    );
    let accepted = (
        status(&with_old_key, access(&ada)).await,
        refresh(&with_old_key.anonymous(), refresh_token(&ada)).await,
    );
    let refreshed_client = with_old_key.anonymous().with_tokens(&accepted.1.body);

    assert_eq!(rejected.0, 401);
    assert_eq!(rejected.1.refusal(), (401, "invalid_refresh_token"));
    assert_eq!(accepted.0, 200);
    assert_eq!(accepted.1.status, 200);
    assert_eq!(status(&without_old_key, access(&refreshed_client)).await, 200, "the new key signs");
    assert_eq!(
        status(&old, access(&refreshed_client)).await,
        401,
        "the old instance does not know the new key"
    );
    assert_eq!(status(&with_old_key, access(&bob)).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_with_a_common_prefix_are_never_confused() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;
    let bob = app.signed_in().await;
    // A long, ignored claim comes first.
    let padded = |it: &Client| {
        let real = Forged::of(it);
        let mut claims = json!({ "a": "x".repeat(2000) });
        let rest = real.claims.as_object().expect("an object").clone();
        claims.as_object_mut().expect("an object").extend(rest);
        Forged { claims, ..real }.signed()
    };
    let tokens = [padded(&ada), padded(&bob)];
    let alike = tokens[0].bytes().zip(tokens[1].bytes()).take_while(|(a, b)| a == b).count();
    let (hers, _) = tokens[0].rsplit_once('.').expect("a signature");
    let (_, his) = tokens[1].rsplit_once('.').expect("a signature");
    let mixed = format!("{hers}.{his}");
    let user = async |token: &str| {
        let client = Client { access: Some(token.to_owned()), ..app.anonymous() };
        let me = client.get("/auth/me").await;
        (me.status, me.body["id"].as_str().map(str::to_owned))
    };

    assert!(alike > 2500, "{alike}");
    for _ in 0..3 {
        assert_eq!(user(&tokens[0]).await, (200, ada.user.clone()));
        assert_eq!(user(&tokens[1]).await, (200, bob.user.clone()));
        assert_eq!(user(&mixed).await, (401, None));
    }
    assert_eq!(super::log_out(&app.anonymous(), refresh_token(&ada)).await.status, 200);
    assert_eq!(user(&tokens[0]).await.0, 401);
    assert_eq!(user(&tokens[1]).await, (200, bob.user.clone()));
}

/// Returns headers in which servers commonly read credentials, each with this one.
fn credential_headers(credential: &str) -> Vec<(&'static str, String)> {
    vec![
        ("x-service-key", credential.to_owned()),
        ("x-api-key", credential.to_owned()),
        ("x-access-token", credential.to_owned()),
        ("x-forwarded-user", credential.to_owned()),
        ("proxy-authorization", format!("Bearer {credential}")),
        ("cookie", format!("access_token={credential}; Authorization=Bearer {credential}")),
        ("authorization", format!("Bearer {credential}")),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_credential_does_not_change_the_caller() {
    let app = TestApp::spawn().await;
    let ada = app.signed_in().await;
    let bob = app.signed_in().await;
    let hers = format!("Bearer {}", access(&ada));

    for (name, value) in credential_headers(access(&bob)) {
        let both_headers = [("authorization", hers.as_str()), (name, value.as_str())];
        let me = app.anonymous().send("GET", "/auth/me", &both_headers, b"").await;
        assert_eq!(me.status, 200, "{name}");
        assert_eq!(me.body["id"].as_str(), ada.user.as_deref(), "{name}");

        if name != "authorization" {
            let single_response =
                app.anonymous().send("GET", "/auth/me", &both_headers[1..], b"").await;
            assert_eq!(single_response.refusal(), (401, "unauthorized"), "{name}");
        }
        let broken = [("authorization", "Bearer x"), (name, value.as_str())];
        let broken = app.anonymous().send("GET", "/auth/me", &broken, b"").await;
        assert_eq!(broken.refusal(), (401, "unauthorized"), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_credential_bypasses_no_rule() {
    const METRICS: &str = "q7Zt3LxV9mR2cWb5Ks8N";
    let app = TestConfig::on(TestDatabase::sqlite())
        .with("Metrics__Token", METRICS)
        .with("RateLimits__Global", 30)
        .start()
        .await;
    let owner = app.signed_in().await;
    let email = owner.get("/auth/me").await.body["email"].clone();
    let body = json!({ "name": "an app", "password": PASSWORD });
    let creation_response = owner.post("/auth/app-passwords", &body).await;
    let credentials = json!({ "email": email, "password": creation_response.body["appPassword"] });
    let program = app.anonymous().post("/auth/login/local", &credentials).await;
    assert_eq!(program.status, 200, "{}", program.text());

    let program = app.anonymous().with_tokens(&program.body);
    let own_token = format!("Bearer {}", access(&program));

    for (name, value) in credential_headers(access(&owner)) {
        let both_headers = [("authorization", own_token.as_str()), (name, value.as_str())];
        let closed_response =
            app.anonymous().send("GET", "/auth/app-passwords", &both_headers, b"").await;
        assert_eq!(closed_response.refusal(), (403, "app_password_refused"), "{name}");
    }

    let far = ("x-forwarded-for", "198.51.100.7");
    for (name, value) in
        credential_headers(METRICS).into_iter().filter(|(name, _)| *name != "authorization")
    {
        let metrics = app.anonymous().send("GET", "/metrics", &[far, (name, &value)], b"").await;
        assert_eq!(metrics.refusal(), (401, "unauthorized"), "{name}");
    }

    // A client with ever new keys is counted as one.
    let mut counted = Vec::new();
    for n in 0..40 {
        let other = format!("another-{n}");
        let headers = [("authorization", own_token.as_str()), ("x-api-key", other.as_str())];
        counted.push(app.anonymous().send("GET", "/auth/sessions", &headers, b"").await.status);
    }
    assert_eq!(counted.last(), Some(&429), "{counted:?}");
}
