//! One-time codes, which a program redeems for a session after a sign-in at a provider.
//!
//! A code is valid for two minutes, with the verifier of the client that started the
//! sign-in, and for one attempt.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::join_all;
use pia_kernel::{Clock, SystemClock};
use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::credentials::sessions;
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use ring::digest;
use serde_json::json;

use super::fake::Fake;
use super::{
    PROGRAM, STATE, VERIFIER, browse, login, redeem, redirect_code, sign_in_at_provider, signed_in,
    with_fake, with_provider,
};
use crate::{refresh, refresh_token};

on_both_databases!(
    a_code_is_consumed_by_any_failed_attempt,
    a_code_is_consumed_by_a_malformed_body,
    a_reused_code_revokes_the_session_that_it_started,
    a_code_expires_after_two_minutes,
    a_code_is_valid_with_its_own_verifier_only,
    concurrent_uses_of_a_code_leave_no_session,
    a_code_is_valid_on_another_instance,
);

/// Code of the right length that the server has not issued.
const UNKNOWN_CODE: &str = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

const OTHER_VERIFIER: &str = "another-verifier-of-forty-three-letters-0001";

/// Signs in at the provider in a browser. Returns the code that the program receives.
async fn obtain_code(app: &TestApp, fake: &Fake) -> String {
    redirect_code(&sign_in_at_provider(app, fake).await)
}

/// Signs in like [`obtain_code`], with the challenge of this verifier instead of [`VERIFIER`].
async fn obtain_code_for(app: &TestApp, fake: &Fake, verifier: &str) -> String {
    let hash = digest::digest(&digest::SHA256, verifier.as_bytes());
    let start = login(&[
        ("provider", "oidc"),
        ("redirect_uri", PROGRAM),
        ("code_challenge", &URL_SAFE_NO_PAD.encode(hash)),
        ("state", STATE),
    ]);
    redirect_code(&browse(app, fake, &start).await)
}

/// Redeems a code that was never issued. Returns the refusal, to be compared with others.
async fn redeem_unknown_code(app: &TestApp) -> TestResponse {
    let refusal = redeem(&app.anonymous(), UNKNOWN_CODE, VERIFIER).await;
    assert_refused(&refusal);
    refusal
}

fn assert_refused(response: &TestResponse) {
    assert_eq!(response.refusal(), (400, "invalid_grant"), "{}", response.text());
}

/// Asserts that a request was refused with the body of `refusal`, so that a client cannot
/// tell the reasons apart.
fn assert_refused_like(refusal: &TestResponse, response: &TestResponse, request: &str) {
    assert_eq!(response.refusal(), (400, "invalid_grant"), "{request:.80}");
    assert_eq!(response.bytes, refusal.bytes, "{request:.80}");
}

async fn assert_session_revoked(app: &TestApp, client: &Client) {
    let response = refresh(&app.anonymous(), refresh_token(client)).await;
    assert_eq!(response.refusal(), (401, "invalid_refresh_token"));
}

async fn a_code_is_consumed_by_any_failed_attempt(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let client = app.anonymous();
    let refusal = redeem_unknown_code(&app).await;

    for mut body in [
        json!({ "codeVerifier": VERIFIER.replace('d', "e") }),
        json!({ "codeVerifier": VERIFIER.to_lowercase() }),
        json!({ "codeVerifier": format!("{VERIFIER}=") }),
        json!({ "codeVerifier": "" }),
        json!({ "codeVerifier": "v".repeat(200_000) }),
        json!({ "codeVerifier": "\u{0}\n" }),
        json!({ "codeVerifier": null }),
        json!({ "codeVerifier": 5 }),
        json!({ "codeVerifier": [VERIFIER] }),
        json!({ "codeVerifier": {} }),
        json!({ "codeVerifier": true }),
        json!({}),
    ] {
        let request = body.to_string();
        let code = obtain_code(&app, &fake).await;
        body["code"] = json!(code);

        let response = client.post("/auth/token", &body).await;
        let retry_response = redeem(&client, &code, VERIFIER).await;

        assert_refused_like(&refusal, &response, &request);
        assert_refused_like(&refusal, &retry_response, &request);
    }
}

async fn a_code_is_consumed_by_a_malformed_body(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let client = app.anonymous();
    let refusal = redeem_unknown_code(&app).await;
    let headers = [("content-type", "application/json")];

    for template in [
        format!(r#"{{"code":"CODE","code":"x","codeVerifier":"{VERIFIER}"}}"#),
        format!(r#"{{"code":"x","code":"CODE","codeVerifier":"{VERIFIER}"}}"#),
        format!(r#"{{"code":"CODE","codeVerifier":"{VERIFIER}","codeVerifier":"x"}}"#),
        format!(r#"{{"code":"CODE","codeVerifier":"{VERIFIER}""#),
        format!(r#"{{"code":"CODE","codeVerifier":"{VERIFIER}"}} and more"#),
        format!(r#"{{"code":"CODE","CodeVerifier":"{VERIFIER}"}}"#),
    ] {
        let code = obtain_code(&app, &fake).await;
        let body = template.replace("CODE", &code);

        let response = client.send("POST", "/auth/token", &headers, body.as_bytes()).await;
        let retry_response = redeem(&client, &code, VERIFIER).await;

        assert_refused_like(&refusal, &response, &template);
        assert_refused_like(&refusal, &retry_response, &template);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_codes_are_refused_like_unknown_ones() {
    let (_fake, app) = with_fake(TestDatabase::sqlite()).await;
    let refusal = redeem_unknown_code(&app).await;

    for body in [
        json!({ "code": "", "codeVerifier": VERIFIER }),
        json!({ "code": null, "codeVerifier": VERIFIER }),
        json!({ "code": "a'b", "codeVerifier": VERIFIER }),
        json!({ "code": "ü\0", "codeVerifier": VERIFIER }),
        json!({ "code": "x".repeat(100_000), "codeVerifier": VERIFIER }),
        json!({ "code": 5, "codeVerifier": VERIFIER }),
        json!({ "code": ["x"] }),
        json!([]),
    ] {
        let response = app.anonymous().post("/auth/token", &body).await;

        assert_refused_like(&refusal, &response, &body.to_string());
    }
}

async fn a_reused_code_revokes_the_session_that_it_started(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let code = obtain_code(&app, &fake).await;
    let envelope = redeem(&app.anonymous(), &code, VERIFIER).await;
    let ada = app.anonymous().with_tokens(&envelope.body);
    let bystander = signed_in(&app, &fake).await;
    assert_eq!(ada.get("/auth/me").await.status, 200);

    let reuse_response = redeem(&app.anonymous(), &code, VERIFIER).await;

    assert_refused(&reuse_response);
    assert_eq!(ada.get("/auth/me").await.refusal(), (401, "unauthorized"));
    assert_session_revoked(&app, &ada).await;
    assert_eq!(bystander.get("/auth/me").await.status, 200);
    assert_refused(&redeem(&app.anonymous(), &code, VERIFIER).await);
}

async fn a_code_is_valid_with_its_own_verifier_only(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let client = app.anonymous();

    for (verifier, other_verifier) in [(VERIFIER, OTHER_VERIFIER), (OTHER_VERIFIER, VERIFIER)] {
        let code = obtain_code_for(&app, &fake, verifier).await;
        let misused_code = obtain_code_for(&app, &fake, verifier).await;
        let other_code = obtain_code_for(&app, &fake, other_verifier).await;

        let response = redeem(&client, &code, verifier).await;
        let mismatch_response = redeem(&client, &misused_code, other_verifier).await;
        let retry_response = redeem(&client, &misused_code, verifier).await;
        let other_response = redeem(&client, &other_code, other_verifier).await;

        assert_eq!(response.status, 200, "{}", response.text());
        assert_refused(&mismatch_response);
        assert_refused(&retry_response);
        assert_eq!(other_response.status, 200, "{}", other_response.text());
    }
}

async fn a_code_expires_after_two_minutes(database: TestDatabase) {
    let fake = Fake::start().await;
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = with_provider(database, &fake.issuer).at(Arc::clone(&clock) as _).start().await;
    // The server's clock runs ahead of the provider's, whose ID tokens must not expire.
    fake.set_claim("exp", (super::fake::now() + 3600).into());

    let code = obtain_code(&app, &fake).await;
    clock.advance(Duration::from_secs(119));
    let punctual_response = redeem(&app.anonymous(), &code, VERIFIER).await;

    let expired_code = obtain_code(&app, &fake).await;
    clock.advance(Duration::from_mins(2));
    let late_response = redeem(&app.anonymous(), &expired_code, VERIFIER).await;

    assert_eq!(punctual_response.status, 200, "{}", punctual_response.text());
    assert_refused(&late_response);
}

/// If a use succeeds, the others revoke the session that it started.
async fn concurrent_uses_of_a_code_leave_no_session(database: TestDatabase) {
    const USES: usize = 32;
    let (fake, app) = with_fake(database).await;
    let code = obtain_code(&app, &fake).await;

    let client = app.anonymous();
    let responses = join_all((0..USES).map(|_| redeem(&client, &code, VERIFIER))).await;

    let envelopes: Vec<_> = responses.iter().filter(|it| it.status == 200).collect();
    assert!(envelopes.len() <= 1, "{}", envelopes.len());
    for envelope in envelopes {
        let session = app.anonymous().with_tokens(&envelope.body);
        assert_session_revoked(&app, &session).await;
    }

    let bystander = signed_in(&app, &fake).await;
    assert_eq!(sessions(&bystander).await.len(), 1);
}

async fn a_code_is_valid_on_another_instance(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let other_server = TestConfig::beside(&app).start().await;
    let code = obtain_code(&app, &fake).await;

    let other_response = redeem(&other_server.anonymous(), &code, VERIFIER).await;
    let reuse_response = redeem(&app.anonymous(), &code, VERIFIER).await;

    assert_eq!(other_response.status, 200, "{}", other_response.text());
    assert_refused(&reuse_response);
    let ada = other_server.anonymous().with_tokens(&other_response.body);
    assert_session_revoked(&app, &ada).await;
}
