//! Second factors: setup, sign-in and removal.

mod at_rest;
mod bad_input;
mod limits;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::client::{Client, TestResponse, keys};
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::{Value, json};
use totp_rs::Totp;

use super::{another_session, refresh, refresh_token, sign_in};

pub(super) const EMAIL: &str = "ada@example.org";

on_both_databases!(
    an_authenticator_app_is_set_up_and_required_from_then_on,
    recovery_codes_sign_in_once_each,
    a_change_ends_all_sessions_but_its_own,
    each_fresh_proof_disables_the_factor,
    of_concurrent_uses_of_a_code_one_signs_in,
    of_concurrent_uses_of_a_recovery_code_one_signs_in,
    of_concurrent_responses_to_a_challenge_one_signs_in,
    wrong_codes_are_in_the_history,
    setting_up_a_factor_requires_the_password,
    enabled_factors_are_reported,
);

/// Returns the proof that the caller is the owner.
fn owner_proof() -> Value {
    json!({ "password": PASSWORD })
}

/// Account with an authenticator app, with the clock of app and server.
pub(super) struct Ada {
    pub(super) app: TestApp,
    pub(super) clock: Arc<ManualClock>,
    pub(super) client: Client,
    totp: Totp,
    pub(super) codes: Vec<String>,
}

impl Ada {
    /// Enables the second factor of an account, long enough ago for a new code.
    pub(super) async fn on(database: TestDatabase) -> Self {
        Self::set_up(TestConfig::on(database)).await
    }

    pub(super) async fn set_up(setting: TestConfig) -> Self {
        let clock = Arc::new(ManualClock::new(SystemClock.now()));
        let app = setting.at(Arc::<ManualClock>::clone(&clock)).start().await;
        let client = app.sign_up(EMAIL).await;
        let setup = client.post("/auth/mfa/totp/begin", &owner_proof()).await;
        assert_eq!(setup.status, 200, "{}", setup.text());

        let totp = Totp::from_url(setup.body["otpauthUri"].as_str().expect("a URI")).expect("TOTP");
        let mut ada = Self { app, clock, client, totp, codes: Vec::new() };
        let verification_response =
            ada.client.post("/auth/mfa/totp/verify", &json!({ "code": ada.code() })).await;
        assert_eq!(verification_response.status, 200, "{}", verification_response.text());

        ada.codes = texts(&verification_response.body["recoveryCodes"]);
        ada.clock.advance(Duration::from_secs(30));
        ada
    }

    /// Returns the code that the app displays now.
    pub(super) fn code(&self) -> String {
        self.code_in(0)
    }

    /// Returns the code that the app displays this many seconds from now.
    fn code_in(&self, seconds: i64) -> String {
        let at = self.clock.now().micros() / 1_000_000 + seconds;
        self.totp.generate(u64::try_from(at).expect("a time")).to_string()
    }

    /// Returns a code that no app displays around now.
    fn wrong_code(&self) -> String {
        let right = [-60, -30, 0, 30, 60].map(|it| self.code_in(it));
        let wrong = (0..6).map(|it| format!("{it:06}")).find(|it| !right.contains(it));
        wrong.expect("a code")
    }

    /// Starts a sign-in and returns its token for the second factor.
    async fn challenge(&self) -> String {
        challenge(&self.app).await
    }
}

async fn challenge(app: &TestApp) -> String {
    let challenge = sign_in(&app.anonymous(), EMAIL, PASSWORD).await;
    assert_eq!(challenge.refusal(), (401, "mfa_required"));
    challenge.body["mfaToken"].as_str().expect("a token").to_owned()
}

async fn submit_code(app: &TestApp, token: &str, code: &str) -> TestResponse {
    app.anonymous().post("/auth/login/mfa", &json!({ "mfaToken": token, "code": code })).await
}

async fn submit_recovery_code(app: &TestApp, token: &str, code: &str) -> TestResponse {
    let body = json!({ "mfaToken": token, "recoveryCode": code });
    app.anonymous().post("/auth/login/mfa", &body).await
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array()
        .expect("a list")
        .iter()
        .map(|it| it.as_str().expect("a text").to_owned())
        .collect()
}

fn count_status(responses: &[TestResponse], status: u16) -> usize {
    responses.iter().filter(|it| it.status == status).count()
}

async fn an_authenticator_app_is_set_up_and_required_from_then_on(database: TestDatabase) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock)).start().await;
    let client = app.sign_up(EMAIL).await;

    let setup = client.post("/auth/mfa/totp/begin", &owner_proof()).await;
    let not_yet = sign_in(&app.anonymous(), EMAIL, PASSWORD).await;
    let totp = Totp::from_url(setup.body["otpauthUri"].as_str().expect("a URI")).expect("TOTP");
    let now = || u64::try_from(clock.now().micros() / 1_000_000).expect("a time");
    let first_code = totp.generate(now()).to_string();
    let verification_response =
        client.post("/auth/mfa/totp/verify", &json!({ "code": first_code })).await;
    let second_response = client.post("/auth/mfa/totp/begin", &owner_proof()).await;
    let challenged = sign_in(&app.anonymous(), EMAIL, PASSWORD).await;
    let token = challenged.body["mfaToken"].as_str().expect("a token").to_owned();
    let replayed = submit_code(&app, &token, &first_code).await;
    clock.advance(Duration::from_secs(30));
    let envelope = submit_code(&app, &token, &totp.generate(now()).to_string()).await;

    assert_eq!(keys(&setup.body), ["otpauthUri", "qrCode", "secret"]);
    let qr_code = setup.body["qrCode"].as_str().unwrap_or_default();
    assert!(qr_code.starts_with("data:image/svg+xml;base64,"), "{qr_code}");
    assert_eq!(totp.issuer(), Some("Pia"));
    assert_eq!(totp.account_name(), EMAIL);
    assert_eq!(setup.body["secret"], totp.secret().to_base32());
    assert_eq!(not_yet.status, 200, "a factor is not required before it is verified");
    assert_eq!(keys(&verification_response.body), ["recoveryCodes", "success"]);
    assert_eq!(texts(&verification_response.body["recoveryCodes"]).len(), 10);
    assert_eq!(second_response.refusal(), (409, "mfa_already_enabled"));
    assert_eq!(challenged.refusal(), (401, "mfa_required"));
    assert_eq!(keys(&challenged.body), ["error", "message", "methods", "mfaToken"]);
    assert_eq!(challenged.body["methods"], json!(["totp", "recovery_code"]));
    assert_eq!(replayed.refusal(), (401, "invalid_mfa_code"));
    assert_eq!(envelope.status, 200, "{}", envelope.text());
    assert_eq!(keys(&envelope.body), ["accessToken", "expiresIn", "refreshToken", "user"]);

    let client = app.anonymous().with_tokens(&envelope.body);
    assert_eq!(client.get("/auth/me").await.body["email"], EMAIL);
    assert_eq!(refresh(&app.anonymous(), refresh_token(&client)).await.status, 200);
}

async fn recovery_codes_sign_in_once_each(database: TestDatabase) {
    let ada = Ada::on(database).await;
    let lower = ada.codes[3].to_lowercase().replace('-', " ");

    let first_response = submit_recovery_code(&ada.app, &ada.challenge().await, &lower).await;
    let second_response =
        submit_recovery_code(&ada.app, &ada.challenge().await, &ada.codes[3]).await;
    let other_response =
        submit_recovery_code(&ada.app, &ada.challenge().await, &ada.codes[4]).await;
    let client = ada.app.anonymous().with_tokens(&other_response.body);
    let proof = json!({ "recoveryCode": ada.codes[5] });
    let new_response = client.post("/auth/mfa/recovery-codes/regenerate", &proof).await;
    let old_response = submit_recovery_code(&ada.app, &ada.challenge().await, &ada.codes[6]).await;
    let fresh = texts(&new_response.body["recoveryCodes"]);
    let newer_response = submit_recovery_code(&ada.app, &ada.challenge().await, &fresh[0]).await;

    assert_eq!(first_response.status, 200);
    assert_eq!(other_response.status, 200);
    assert_eq!(new_response.status, 200);
    assert_eq!(newer_response.status, 200);
    assert_eq!(second_response.refusal(), (401, "invalid_mfa_code"));
    assert_eq!(old_response.refusal(), (401, "invalid_mfa_code"));
    assert!(fresh.len() == 10 && fresh.iter().all(|it| !ada.codes.contains(it)));
}

async fn a_change_ends_all_sessions_but_its_own(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let first_client = app.sign_up(EMAIL).await;
    let second_client = another_session(&app.anonymous(), EMAIL).await;
    let eve = app.sign_up("eve@example.org").await;
    assert_eq!(second_client.get("/auth/me").await.status, 200);

    let setup = first_client.post("/auth/mfa/totp/begin", &owner_proof()).await;
    let untouched = second_client.get("/auth/me").await;
    let totp = Totp::from_url(setup.body["otpauthUri"].as_str().expect("a URI")).expect("TOTP");
    let now = u64::try_from(SystemClock.now().micros() / 1_000_000).expect("a time");
    let code = totp.generate(now).to_string();
    let verification_response =
        first_client.post("/auth/mfa/totp/verify", &json!({ "code": code })).await;

    assert_eq!(untouched.status, 200);
    assert_eq!(verification_response.status, 200);
    assert_eq!(second_client.get("/auth/me").await.refusal(), (401, "unauthorized"));
    assert_eq!(refresh(&app.anonymous(), refresh_token(&second_client)).await.status, 401);
    assert_eq!(first_client.get("/auth/me").await.status, 200);
    assert_eq!(refresh(&app.anonymous(), refresh_token(&first_client)).await.status, 200);
    assert_eq!(eve.get("/auth/me").await.status, 200);
}

async fn each_fresh_proof_disables_the_factor(database: TestDatabase) {
    let ada = Ada::on(database).await;
    let nothing = json!({ "password": PASSWORD });

    let first_response = ada.client.post("/auth/mfa/disable", &json!({ "code": ada.code() })).await;
    let off = ada.client.post("/auth/mfa/disable", &nothing).await;
    let regenerated = ada.client.post("/auth/mfa/recovery-codes/regenerate", &nothing).await;
    let signed_in = sign_in(&ada.app.anonymous(), EMAIL, PASSWORD).await;

    assert_eq!(first_response.status, 200);
    assert_eq!(first_response.body, json!({ "success": true }));
    assert_eq!(off.refusal(), (409, "mfa_not_enabled"));
    assert_eq!(regenerated.refusal(), (409, "mfa_not_enabled"));
    assert_eq!(signed_in.status, 200);
    for proof in ["password", "recoveryCode"] {
        let setup = ada.client.post("/auth/mfa/totp/begin", &owner_proof()).await;
        let uri = setup.body["otpauthUri"].as_str().expect("a URI").to_owned();
        let now = u64::try_from(ada.clock.now().micros() / 1_000_000).expect("a time");
        let code = Totp::from_url(uri).expect("TOTP").generate(now).to_string();
        let verification_response =
            ada.client.post("/auth/mfa/totp/verify", &json!({ "code": code })).await;
        let recovery = texts(&verification_response.body["recoveryCodes"]).remove(0);
        let value = if proof == "password" { PASSWORD.to_owned() } else { recovery };
        let disabled = ada.client.post("/auth/mfa/disable", &json!({ proof: value })).await;
        assert_eq!(disabled.status, 200, "{proof}: {}", disabled.text());
    }
}

async fn of_concurrent_uses_of_a_code_one_signs_in(database: TestDatabase) {
    let ada = Ada::on(database).await;
    let mut tokens = Vec::new();
    for _ in 0..64 {
        tokens.push(ada.challenge().await);
    }

    let code = ada.code();
    let responses = join_all(tokens.iter().map(|it| submit_code(&ada.app, it, &code))).await;

    assert_eq!(count_status(&responses, 200), 1);
    assert_eq!(count_status(&responses, 401) + count_status(&responses, 429), 63);
}

async fn of_concurrent_uses_of_a_recovery_code_one_signs_in(database: TestDatabase) {
    let ada = Ada::on(database).await;
    let mut tokens = Vec::new();
    for _ in 0..64 {
        tokens.push(ada.challenge().await);
    }

    let responses =
        join_all(tokens.iter().map(|it| submit_recovery_code(&ada.app, it, &ada.codes[0]))).await;

    assert_eq!(count_status(&responses, 200), 1);
    assert_eq!(count_status(&responses, 401) + count_status(&responses, 429), 63);
}

async fn of_concurrent_responses_to_a_challenge_one_signs_in(database: TestDatabase) {
    let ada = Ada::on(database).await;
    let token = ada.challenge().await;
    let code = ada.code();

    let by_app = (0..32).map(|_| submit_code(&ada.app, &token, &code));
    let by_recovery_code =
        ada.codes.iter().cycle().take(32).map(|it| submit_recovery_code(&ada.app, &token, it));
    let (by_app, by_recovery_code) =
        futures_util::join!(join_all(by_app), join_all(by_recovery_code));

    assert_eq!(count_status(&by_app, 200) + count_status(&by_recovery_code, 200), 1);
}

async fn wrong_codes_are_in_the_history(database: TestDatabase) {
    let ada = Ada::on(database).await;

    submit_code(&ada.app, &ada.challenge().await, &ada.wrong_code()).await;
    submit_recovery_code(&ada.app, &ada.challenge().await, "K3V90-0QXZ7-1BCDE-FGHJK-MNPQR").await;
    submit_code(&ada.app, "nonsense", &ada.code()).await;

    let history = ada.client.get("/auth/login-history").await.body;
    let items = history["items"].as_array().expect("a list");
    let outcomes: Vec<_> = items.iter().map(|it| (&it["outcome"], &it["method"])).collect();
    let wrong = json!("wrong_factor");
    let by = json!("password_with_factor");

    assert_eq!(outcomes[..2], [(&wrong, &by), (&wrong, &by)]);
    assert_eq!(outcomes[2..], [(&json!("signed_in"), &json!("password"))]);
}

async fn setting_up_a_factor_requires_the_password(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let thief = app.sign_up(EMAIL).await;
    let begin = async |body: Value| thief.post("/auth/mfa/totp/begin", &body).await;

    let without_password = begin(json!({})).await;
    let null = begin(json!({ "password": null })).await;
    let wrong_response = begin(json!({ "password": "a wrong password" })).await;
    let number = begin(json!({ "password": 5 })).await;

    for refused in [without_password, null, number] {
        assert_eq!(refused.refusal(), (400, "validation_failed"));
        assert_eq!(refused.body["errors"][0]["field"], "password");
    }
    assert_eq!(wrong_response.refusal(), (403, "invalid_proof"));
    assert_eq!(begin(owner_proof()).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_may_be_a_step_early_or_late() {
    for (seconds, status) in [(-60, 401), (-30, 401), (0, 200), (30, 200), (60, 401)] {
        // The code of 30 seconds ago enabled the factor, so it is used up.
        let ada = Ada::on(TestDatabase::sqlite()).await;
        let response = submit_code(&ada.app, &ada.challenge().await, &ada.code_in(seconds)).await;
        assert_eq!(response.status, status, "{seconds}");
    }

    let ada = Ada::on(TestDatabase::sqlite()).await;
    ada.clock.advance(Duration::from_secs(30));
    let late_response = submit_code(&ada.app, &ada.challenge().await, &ada.code_in(-30)).await;
    assert_eq!(late_response.status, 200, "{}", late_response.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_starts_on_one_instance_and_completes_on_another() {
    let ada = Ada::on(TestDatabase::postgres().await).await;
    let clock = Arc::<ManualClock>::clone(&ada.clock);
    let other_server = TestConfig::beside(&ada.app).at(clock).start().await;

    let token = ada.challenge().await;
    let other_response = submit_code(&other_server, &token, &ada.code()).await;
    let own_response = submit_code(&ada.app, &token, &ada.code_in(30)).await;
    let replayed = submit_code(&ada.app, &challenge(&other_server).await, &ada.code()).await;

    assert_eq!(other_response.status, 200, "{}", other_response.text());
    assert_eq!(own_response.refusal(), (401, "invalid_mfa_token"));
    assert_eq!(replayed.refusal(), (401, "invalid_mfa_code"));
}

#[tokio::test(flavor = "multi_thread")]
async fn disabling_a_factor_ends_pending_sign_ins() {
    let ada = Ada::on(TestDatabase::sqlite()).await;
    let token = ada.challenge().await;

    let disabled = ada.client.post("/auth/mfa/disable", &json!({ "password": PASSWORD })).await;
    let answered = submit_code(&ada.app, &token, &ada.code()).await;

    assert_eq!(disabled.status, 200);
    assert_eq!(answered.refusal(), (401, "invalid_mfa_token"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_refused_alike_with_and_without_a_factor() {
    let ada = Ada::on(TestDatabase::sqlite()).await;
    ada.app.sign_up("bob@example.org").await;

    let with = sign_in(&ada.app.anonymous(), EMAIL, "a wrong password").await;
    let without = sign_in(&ada.app.anonymous(), "bob@example.org", "a wrong password").await;

    assert_eq!(with.refusal(), (401, "invalid_credentials"));
    assert_eq!(with.status, without.status);
    assert_eq!(with.bytes, without.bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn second_factors_work_after_the_licence_has_expired() {
    let start = SystemClock.now();
    let terms = pia_policy::Terms {
        expires_at: Some(start + Duration::from_mins(2)),
        ..pia_server_testkit::harness::terms()
    };
    let ada = Ada::set_up(TestConfig::on(TestDatabase::sqlite()).licensed(Some(terms))).await;
    ada.clock.set(start + Duration::from_mins(3));

    let refused_response = ada.app.anonymous().post("/auth/register", &json!({})).await;
    let response = submit_code(&ada.app, &ada.challenge().await, &ada.code()).await;
    let client = ada.app.anonymous().with_tokens(&response.body);
    let proof = json!({ "recoveryCode": ada.codes[0] });
    let disabled = client.post("/auth/mfa/disable", &proof).await;
    let setup = client.post("/auth/mfa/totp/begin", &owner_proof()).await;

    assert_eq!(refused_response.refusal(), (403, "license_expired"));
    assert_eq!(response.status, 200);
    assert_eq!(disabled.status, 200);
    assert_eq!(setup.status, 200);
}

async fn enabled_factors_are_reported(database: TestDatabase) {
    let ada = Ada::set_up(TestConfig::on(database).with("Server__Name", "Acme: Pia")).await;
    let eve = ada.app.signed_in().await;
    let token = ada.challenge().await;
    assert_eq!(submit_recovery_code(&ada.app, &token, &ada.codes[0]).await.status, 200);

    let on = ada.client.get("/auth/mfa").await;
    let off = eve.get("/auth/mfa").await;
    let setup = eve.post("/auth/mfa/totp/begin", &owner_proof()).await;

    assert_eq!(
        on.body,
        json!({ "totpEnabled": true, "recoveryCodesLeft": ada.codes.len() - 1, "passkeys": 0 })
    );
    let nothing = json!({ "totpEnabled": false, "recoveryCodesLeft": 0, "passkeys": 0 });
    assert_eq!(off.body, nothing);
    let uri = setup.body["otpauthUri"].as_str().expect("a URI");
    assert!(uri.ends_with("&issuer=Acme%20%20Pia"), "{uri}");
}
