//! Deactivated accounts, which are refused like unknown ones.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::client::{Client, TestResponse};
use pia_server_testkit::harness::{PASSWORD, TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::{refresh, refresh_token, sign_in};

on_both_databases!(
    a_deactivated_account_is_refused_like_an_unknown_one,
    a_reactivated_account_signs_in_again,
    a_sign_in_that_waits_for_its_second_factor_is_ended,
);

const ADA: &str = "ada@example.org";

/// Starts a server with a manual clock, and signs Ada in.
async fn with_ada(database: TestDatabase) -> (TestApp, Client, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock)).start().await;
    let ada = app.sign_up(ADA).await;
    (app, ada, clock)
}

/// Runs an administrative command as another process, and waits until the server notices.
async fn admin(app: &TestApp, clock: &Arc<ManualClock>, line: &str) {
    app.admin_at(line, Arc::<ManualClock>::clone(clock)).await.expect("a change");
    clock.advance(Duration::from_millis(5001));
}

fn observable(response: &TestResponse) -> (u16, &str, Vec<u8>) {
    (response.status, response.error(), response.bytes.clone())
}

async fn a_deactivated_account_is_refused_like_an_unknown_one(database: TestDatabase) {
    let (app, ada, clock) = with_ada(database).await;

    admin(&app, &clock, "deactivate ada@example.org").await;
    let me = ada.get("/auth/me").await;
    let refreshed = refresh(&ada, refresh_token(&ada)).await;
    let unknown_response = refresh(&ada, "unknown").await;
    let stranger = app.anonymous();
    let unknown_address = "nobody@example.org";
    let signed_in = sign_in(&stranger, ADA, PASSWORD).await;
    let unknown_sign_in = sign_in(&stranger, unknown_address, PASSWORD).await;
    let registered =
        stranger.post("/auth/register", &json!({ "email": ADA, "password": PASSWORD })).await;

    assert_eq!(me.refusal(), (401, "unauthorized"));
    assert_eq!(refreshed.refusal(), (401, "invalid_refresh_token"));
    assert_eq!(observable(&refreshed), observable(&unknown_response));
    assert_eq!(signed_in.refusal(), (401, "invalid_credentials"));
    assert_eq!(observable(&signed_in), observable(&unknown_sign_in));
    assert_eq!(registered.refusal(), (409, "email_exists"), "the address stays taken");
}

async fn a_reactivated_account_signs_in_again(database: TestDatabase) {
    let (app, ada, clock) = with_ada(database).await;
    admin(&app, &clock, "deactivate ada@example.org").await;

    admin(&app, &clock, "reactivate ada@example.org").await;
    let old_statuses =
        (ada.get("/auth/me").await.status, refresh(&ada, refresh_token(&ada)).await.status);
    let anew = sign_in(&app.anonymous(), ADA, PASSWORD).await;

    assert_eq!(old_statuses, (401, 401));
    assert_eq!(anew.status, 200, "{}", anew.text());
    assert_eq!(anew.body["user"]["id"].as_str(), ada.user.as_deref());
}

async fn a_sign_in_that_waits_for_its_second_factor_is_ended(database: TestDatabase) {
    let (app, ada, clock) = with_ada(database).await;
    let setup = ada.post("/auth/mfa/totp/begin", &json!({ "password": PASSWORD })).await;
    let uri = setup.body["otpauthUri"].as_str().expect("a URI");
    let totp = totp_rs::Totp::from_url(uri).expect("TOTP");
    let code = |clock: &ManualClock| {
        let at = u64::try_from(clock.now().micros() / 1_000_000).expect("a time");
        json!({ "code": totp.generate(at).to_string() })
    };
    assert_eq!(ada.post("/auth/mfa/totp/verify", &code(&clock)).await.status, 200);

    clock.advance(Duration::from_secs(30));
    let waiting_response = sign_in(&app.anonymous(), ADA, PASSWORD).await;
    assert_eq!(waiting_response.refusal(), (401, "mfa_required"));

    admin(&app, &clock, "deactivate ada@example.org").await;
    admin(&app, &clock, "reactivate ada@example.org").await;
    let mut body = code(&clock);
    body["mfaToken"] = waiting_response.body["mfaToken"].clone();
    let completed = app.anonymous().post("/auth/login/mfa", &body).await;

    assert_eq!(completed.refusal(), (401, "invalid_mfa_token"));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_sign_in_that_races_a_deactivation_survives_it() {
    let (app, _, clock) = with_ada(TestDatabase::sqlite()).await;

    let signing_in = join_all((0..16).map(|_| async {
        let envelope = sign_in(&app.anonymous(), ADA, PASSWORD).await;
        app.anonymous().with_tokens(&envelope.body)
    }));
    let (clients, ()) =
        futures_util::join!(signing_in, admin(&app, &clock, "deactivate ada@example.org"));
    admin(&app, &clock, "reactivate ada@example.org").await;

    let signed_in = clients.iter().filter(|it| it.refresh.is_some());
    for client in signed_in {
        assert_eq!(refresh(client, refresh_token(client)).await.status, 401);
        assert_eq!(client.get("/auth/me").await.status, 401);
    }
}
