//! Tests of the proofs that adding a passkey requires, and of a passkey as a
//! proof.

use pia_server_testkit::credentials::{add_passkey, enrol, passkey_options};
use totp_rs::Totp;

use super::*;

const BEGIN: &str = "/auth/webauthn/register/begin";

/// Enables an authenticator app. Returns it with the recovery codes.
async fn with_factor(client: &Client, clock: &ManualClock) -> (Totp, Vec<String>) {
    let setup = client.post("/auth/mfa/totp/begin", &json!({ "password": PASSWORD })).await;
    let totp = Totp::from_url(text(&setup.body["otpauthUri"])).expect("TOTP");
    let body = json!({ "code": code(&totp, clock) });
    let verification_response = client.post("/auth/mfa/totp/verify", &body).await;
    assert_eq!(verification_response.status, 200, "{}", verification_response.text());
    let codes = verification_response.body["recoveryCodes"].as_array().expect("a list").iter();
    (totp, codes.map(|it| text(it).to_owned()).collect())
}

fn code(totp: &Totp, clock: &ManualClock) -> String {
    totp.generate(u64::try_from(clock.now().micros() / 1_000_000).expect("a time")).to_string()
}

async fn ada() -> (TestApp, Arc<ManualClock>, Client) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = setting(TestDatabase::sqlite()).at(Arc::<ManualClock>::clone(&clock)).start().await;
    let client = app.sign_up(EMAIL).await;
    (app, clock, client)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_starts_no_registration_and_is_counted() {
    let (_app, _clock, ada) = ada().await;

    for _ in 0..10 {
        let response = ada.post(BEGIN, &json!({ "password": "a wrong password" })).await;
        assert_eq!(response.refusal(), (403, "invalid_proof"));
    }

    let response = ada.post(BEGIN, &json!({ "password": PASSWORD })).await;
    assert_eq!(response.refusal(), (429, "rate_limited"));
    assert_eq!(ada.get("/auth/me").await.status, 200, "the session goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn codes_are_proofs_once_each_if_a_factor_is_enabled() {
    let (_app, clock, ada) = ada().await;
    let none_on = ada.post(BEGIN, &json!({ "code": "123456" })).await;
    let (totp, codes) = with_factor(&ada, &clock).await;
    clock.advance(Duration::from_secs(30));

    let now = json!({ "code": code(&totp, &clock) });
    let recovery_code = json!({ "recoveryCode": codes[0] });
    let mut statuses = Vec::new();
    for proof in [&now, &now, &recovery_code, &recovery_code] {
        statuses.push(ada.post(BEGIN, proof).await.status);
    }
    let two = ada.post(BEGIN, &json!({ "password": PASSWORD, "code": "1" })).await;
    let nothing = ada.post(BEGIN, &json!({})).await;

    assert_eq!(none_on.refusal(), (403, "invalid_proof"));
    assert_eq!(statuses, [200, 403, 200, 403]);
    assert_eq!(two.refusal(), (400, "validation_failed"));
    assert_eq!(nothing.refusal(), (400, "validation_failed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passkey_counts_as_both_factors() {
    let (app, clock, ada) = ada().await;
    with_factor(&ada, &clock).await;
    let mut key = Authenticator::new();
    enrol(&ada, &mut key, "Key").await;

    let by_passkey = sign_in(&app, &mut key).await;
    let by_password = super::super::sign_in(&app.anonymous(), EMAIL, PASSWORD).await;

    assert_eq!(by_passkey.status, 200, "{}", by_passkey.text());
    assert_eq!(by_password.refusal(), (401, "mfa_required"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_ended_elsewhere_adds_no_passkey() {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let at = |it: TestConfig| it.at(Arc::<ManualClock>::clone(&clock));
    let app = at(setting(TestDatabase::postgres().await)).start().await;
    let beside = TestConfig::beside(&app).with("Server__PublicUrl", ORIGIN);
    let other_server = at(beside).start().await;
    let thief = app.sign_up(EMAIL).await;
    let remote_client =
        other_server.anonymous().with_tokens(&json!({ "accessToken": thief.access }));
    let options = passkey_options(&remote_client).await;
    let credential = Authenticator::new().create(&options["publicKey"]);

    let ada = another_session(&app.anonymous(), EMAIL).await;
    let ended = ada.post("/auth/sessions/revoke-others", &json!({})).await;
    let remembered = remote_client.get("/auth/me").await;
    let addition_response = add_passkey(&remote_client, &options, "Key", &credential).await;

    assert_eq!(ended.status, 200);
    assert_eq!(remembered.status, 200, "the other instance caches the session");
    assert_eq!(addition_response.refusal(), (401, "unauthorized"));
    assert!(list(&ada).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn passkeys_work_after_the_licence_has_expired() {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let terms = pia_policy::Terms {
        expires_at: Some(clock.now() + Duration::from_mins(2)),
        ..pia_server_testkit::harness::terms()
    };
    let app = setting(TestDatabase::sqlite())
        .licensed(Some(terms))
        .at(Arc::<ManualClock>::clone(&clock))
        .start()
        .await;
    let ada = app.sign_up(EMAIL).await;
    clock.advance(Duration::from_mins(3));

    let mut key = Authenticator::new();
    let id = enrol(&ada, &mut key, "Key").await;
    let signed_in = sign_in(&app, &mut key).await;
    let removal_response = remove(&ada, &id).await;

    assert_eq!(signed_in.status, 200);
    assert_eq!(removal_response.status, 200);
}
