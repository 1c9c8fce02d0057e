//! One-time codes: for two minutes, for the client that started, and once.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::join_all;
use pia_kernel::{Clock, SystemClock};
use pia_server_testkit::client::TestResponse;
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use ring::digest;
use serde_json::{Value, json};

use super::fake::Fake;
use super::{
    PROGRAM, STATE, VERIFIER, browse, login, redeem, redirect_code, sign_in_at_provider, with_fake,
    with_provider,
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

/// Asserts a refusal, and returns its body, which is the same for every error.
fn refused(response: &TestResponse) -> &[u8] {
    assert_eq!(response.refusal(), (400, "invalid_grant"));
    &response.bytes
}

async fn a_code_is_consumed_by_any_failed_attempt(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let stranger = app.anonymous();
    let unknown_response = redeem(&stranger, &"x".repeat(43), VERIFIER).await;
    let another = VERIFIER.replace('d', "e");

    for wrong in [
        json!({ "codeVerifier": another }),
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
        let code = redirect_code(&sign_in_at_provider(&app, &fake).await);
        let mut body = wrong.clone();
        body["code"] = json!(code);

        let first_response = stranger.post("/auth/token", &body).await;
        let second_response = redeem(&stranger, &code, VERIFIER).await;

        assert_eq!(refused(&first_response), refused(&unknown_response), "{wrong:.80}");
        assert_eq!(refused(&second_response), refused(&unknown_response), "{wrong:.80}");
    }
}

async fn a_code_is_consumed_by_a_malformed_body(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let stranger = app.anonymous();
    let json = [("content-type", "application/json")];

    for template in [
        format!(r#"{{"code":"CODE","code":"x","codeVerifier":"{VERIFIER}"}}"#),
        format!(r#"{{"code":"x","code":"CODE","codeVerifier":"{VERIFIER}"}}"#),
        format!(r#"{{"code":"CODE","codeVerifier":"{VERIFIER}","codeVerifier":"x"}}"#),
        format!(r#"{{"code":"CODE","codeVerifier":"{VERIFIER}""#),
        format!(r#"{{"code":"CODE","codeVerifier":"{VERIFIER}"}} and more"#),
        format!(r#"{{"code":"CODE","CodeVerifier":"{VERIFIER}"}}"#),
    ] {
        let code = redirect_code(&sign_in_at_provider(&app, &fake).await);
        let body = template.replace("CODE", &code);

        let first_response = stranger.send("POST", "/auth/token", &json, body.as_bytes()).await;
        let second_response = redeem(&stranger, &code, VERIFIER).await;

        assert_eq!(refused(&first_response), refused(&second_response), "{template}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_codes_are_refused_like_unknown_ones() {
    let (_fake, app) = with_fake(TestDatabase::sqlite()).await;
    let refusal = redeem(&app.anonymous(), &"x".repeat(43), VERIFIER).await;

    for code in [json!(""), Value::Null, json!("a'b"), json!("ü\0"), json!("x".repeat(100_000))] {
        let body = json!({ "code": code, "codeVerifier": VERIFIER });
        let response = app.anonymous().post("/auth/token", &body).await;
        assert_eq!(refused(&response), refused(&refusal), "{body:.80}");
    }
    for other in
        [json!({ "code": 5, "codeVerifier": VERIFIER }), json!({ "code": ["x"] }), json!([])]
    {
        let response = app.anonymous().post("/auth/token", &other).await;
        assert_eq!(refused(&response), refused(&refusal), "{other}");
    }
}

async fn a_reused_code_revokes_the_session_that_it_started(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let code = redirect_code(&sign_in_at_provider(&app, &fake).await);
    let envelope = redeem(&app.anonymous(), &code, VERIFIER).await;
    let ada = app.anonymous().with_tokens(&envelope.body);
    let bystander = super::signed_in(&app, &fake).await;
    assert_eq!(ada.get("/auth/me").await.status, 200);

    let repeated_response = redeem(&app.anonymous(), &code, VERIFIER).await;

    refused(&repeated_response);
    assert_eq!(ada.get("/auth/me").await.refusal(), (401, "unauthorized"));
    let over = refresh(&app.anonymous(), refresh_token(&ada)).await;
    assert_eq!(over.refusal(), (401, "invalid_refresh_token"));
    assert_eq!(bystander.get("/auth/me").await.status, 200);
    refused(&redeem(&app.anonymous(), &code, VERIFIER).await);
}

/// Signs in, and returns a code that is bound to this verifier.
async fn code_for(app: &TestApp, fake: &Fake, verifier: &str) -> String {
    let challenge = digest::digest(&digest::SHA256, verifier.as_bytes());
    let challenge = URL_SAFE_NO_PAD.encode(challenge);
    let start = login(&[
        ("provider", "oidc"),
        ("redirect_uri", PROGRAM),
        ("code_challenge", &challenge),
        ("state", STATE),
    ]);
    redirect_code(&browse(app, fake, &start).await)
}

async fn a_code_is_valid_with_its_own_verifier_only(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let stranger = app.anonymous();
    let other_verifier = "another-verifier-of-forty-three-letters-0001";
    let verifiers = [VERIFIER, other_verifier];

    for (row, own) in verifiers.into_iter().enumerate() {
        for (column, presented) in verifiers.into_iter().enumerate() {
            let codes = [
                code_for(&app, &fake, VERIFIER).await,
                code_for(&app, &fake, other_verifier).await,
            ];
            let beside = 1 - row;

            let first_response = redeem(&stranger, &codes[row], presented).await;

            if row == column {
                assert_eq!(first_response.status, 200, "{}", first_response.text());
            } else {
                refused(&first_response);
                refused(&redeem(&stranger, &codes[row], own).await);
            }
            let untouched = redeem(&stranger, &codes[beside], verifiers[beside]).await;
            assert_eq!(untouched.status, 200, "{row} {column}: {}", untouched.text());
        }
    }
}

async fn a_code_expires_after_two_minutes(database: TestDatabase) {
    let fake = Fake::start().await;
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = with_provider(database, &fake.issuer).at(Arc::clone(&clock) as _).start().await;
    fake.set_claim("exp", (super::fake::now() + 3600).into());

    let code = redirect_code(&sign_in_at_provider(&app, &fake).await);
    clock.advance(Duration::from_secs(119));
    let in_time = redeem(&app.anonymous(), &code, VERIFIER).await;
    let code = redirect_code(&sign_in_at_provider(&app, &fake).await);
    clock.advance(Duration::from_mins(2));
    let late_response = redeem(&app.anonymous(), &code, VERIFIER).await;

    assert_eq!(in_time.status, 200, "{}", in_time.text());
    refused(&late_response);
}

async fn concurrent_uses_of_a_code_leave_no_session(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let code = redirect_code(&sign_in_at_provider(&app, &fake).await);

    let stranger = app.anonymous();
    let responses = join_all((0..32).map(|_| redeem(&stranger, &code, VERIFIER))).await;

    let granted: Vec<_> = responses.iter().filter(|it| it.status == 200).collect();
    assert!(granted.len() <= 1, "{}", granted.len());
    for envelope in granted {
        let client = app.anonymous().with_tokens(&envelope.body);
        let over = refresh(&app.anonymous(), refresh_token(&client)).await;
        assert_eq!(over.refusal(), (401, "invalid_refresh_token"));
    }
    let bystander = super::signed_in(&app, &fake).await;
    assert_eq!(pia_server_testkit::credentials::sessions(&bystander).await.len(), 1);
}

async fn a_code_is_valid_on_another_instance(database: TestDatabase) {
    let (fake, app) = with_fake(database).await;
    let other_server = TestConfig::beside(&app).start().await;
    let code = redirect_code(&sign_in_at_provider(&app, &fake).await);

    let other_response = redeem(&other_server.anonymous(), &code, VERIFIER).await;
    let own_response = redeem(&app.anonymous(), &code, VERIFIER).await;

    assert_eq!(other_response.status, 200, "{}", other_response.text());
    refused(&own_response);
    let ada = other_server.anonymous().with_tokens(&other_response.body);
    let over = refresh(&app.anonymous(), refresh_token(&ada)).await;
    assert_eq!(over.refusal(), (401, "invalid_refresh_token"));
}
