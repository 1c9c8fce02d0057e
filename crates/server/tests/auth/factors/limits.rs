//! Tests of the limits on wrong second factors.

use pia_server_testkit::emails::names_to;

use super::*;

/// Uses up the account's limit of wrong codes.
async fn exhaust(ada: &Ada) {
    let token = ada.challenge().await;
    let wrong_code = ada.wrong_code();
    for _ in 0..5 {
        let response = submit_code(&ada.app, &token, &wrong_code).await;
        assert_eq!(response.refusal(), (401, "invalid_mfa_code"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_allows_five_attempts() {
    let ada = Ada::on(TestDatabase::sqlite()).await;
    let token = ada.challenge().await;
    let wrong_code = ada.wrong_code();

    for _ in 0..5 {
        let response = submit_code(&ada.app, &token, &wrong_code).await;
        assert_eq!(response.refusal(), (401, "invalid_mfa_code"));
    }

    let exhausted = submit_code(&ada.app, &token, &ada.code()).await;
    assert_eq!(exhausted.refusal(), (401, "invalid_mfa_token"));
    let token = ada.challenge().await;
    let early_response = submit_code(&ada.app, &token, &ada.code()).await;
    ada.clock.advance(Duration::from_secs(1));
    let later_response = submit_code(&ada.app, &token, &ada.code()).await;
    assert_eq!(early_response.refusal(), (429, "rate_limited"));
    assert_eq!(later_response.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_is_warned_of_five_wrong_codes_once_a_day() {
    let ada = Ada::set_up(TestConfig::on(TestDatabase::sqlite()).with_mail()).await;
    let warnings = async || {
        let names = names_to(&ada.app, EMAIL).await;
        names.iter().filter(|it| *it == "second-factor-failed").count()
    };

    let mut counts = Vec::new();
    for day in 0..2 {
        for _ in 0..6 {
            let response = submit_code(&ada.app, &ada.challenge().await, &ada.wrong_code()).await;
            assert_eq!(response.refusal(), (401, "invalid_mfa_code"), "{day}");
            counts.push(warnings().await);
            ada.clock.advance(Duration::from_secs(2));
        }
        ada.clock.advance(Duration::from_hours(25));
    }

    assert_eq!(counts, [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_codes_are_counted_for_the_account_on_all_instances() {
    let ada = Ada::on(TestDatabase::postgres().await).await;
    let clock = Arc::<ManualClock>::clone(&ada.clock);
    let other_server = TestConfig::beside(&ada.app).at(clock).start().await;
    exhaust(&ada).await;

    let token = challenge(&other_server).await;
    let response = submit_code(&other_server, &token, &ada.code()).await;
    let by_recovery_code = submit_recovery_code(&other_server, &token, &ada.codes[0]).await;
    ada.clock.advance(Duration::from_secs(1));
    let later_response = submit_code(&other_server, &token, &ada.code()).await;

    assert_eq!(response.refusal(), (429, "rate_limited"));
    assert_eq!(response.header("retry-after"), Some("1"));
    assert_eq!(by_recovery_code.refusal(), (429, "rate_limited"));
    assert_eq!(later_response.status, 200, "{}", later_response.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn guesses_within_a_session_count_towards_the_limit() {
    let ada = Ada::on(TestDatabase::sqlite()).await;

    for number in 0..10 {
        let proof = match number % 3 {
            0 => json!({ "password": "a wrong password" }),
            1 => json!({ "code": ada.wrong_code() }),
            _ => json!({ "recoveryCode": "K3V90-0QXZ7-1BCDE-FGHJK-MNPQR" }),
        };
        let path = ["/auth/mfa/disable", "/auth/mfa/recovery-codes/regenerate"][number % 2];
        let response = ada.client.post(path, &proof).await;
        assert_eq!(response.refusal(), (403, "invalid_proof"), "{number}");
    }

    let correct_body = json!({ "password": PASSWORD });
    let response = ada.client.post("/auth/mfa/disable", &correct_body).await;
    assert_eq!(response.refusal(), (429, "rate_limited"));
    assert_eq!(ada.client.get("/auth/me").await.status, 200, "the session goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn guesses_of_the_first_code_count_towards_the_limit() {
    let ada = Ada::on(TestDatabase::sqlite()).await;
    let bob = ada.app.sign_up("bob@example.org").await;
    let early_response = bob.post("/auth/mfa/totp/verify", &json!({ "code": "123456" })).await;
    let setup = bob.post("/auth/mfa/totp/begin", &owner_proof()).await;

    let mut refused = Vec::new();
    for _ in 0..11 {
        refused.push(bob.post("/auth/mfa/totp/verify", &json!({ "code": "nonsense" })).await);
    }

    assert_eq!(early_response.refusal(), (409, "mfa_not_begun"));
    assert_eq!(setup.status, 200);
    let last_response = refused.pop().expect("a response");
    assert!(refused.iter().all(|it| it.refusal() == (400, "invalid_mfa_code")));
    assert_eq!(last_response.refusal(), (429, "rate_limited"));
    assert_eq!(submit_code(&ada.app, &ada.challenge().await, &ada.code()).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pending_sign_in_expires_after_five_minutes() {
    let ada = Ada::on(TestDatabase::sqlite()).await;
    let first_challenge = ada.challenge().await;
    let second_challenge = ada.challenge().await;

    ada.clock.advance(Duration::from_secs(299));
    let in_time = submit_code(&ada.app, &first_challenge, &ada.code()).await;
    ada.clock.advance(Duration::from_secs(1));
    let late_response = submit_code(&ada.app, &second_challenge, &ada.code_in(30)).await;

    assert_eq!(in_time.status, 200);
    assert_eq!(late_response.refusal(), (401, "invalid_mfa_token"));
}

#[tokio::test(flavor = "multi_thread")]
async fn setting_up_an_app_expires_after_fifteen_minutes() {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app =
        TestConfig::on(TestDatabase::sqlite()).at(Arc::<ManualClock>::clone(&clock)).start().await;
    let client = app.sign_up(EMAIL).await;
    client.post("/auth/mfa/totp/begin", &owner_proof()).await;

    clock.advance(Duration::from_mins(15));
    let envelope = refresh(&client, refresh_token(&client)).await.body;
    let client = client.with_tokens(&envelope);
    let late_response = client.post("/auth/mfa/totp/verify", &json!({ "code": "123456" })).await;

    assert_eq!(late_response.refusal(), (409, "mfa_not_begun"));
}

#[tokio::test(flavor = "multi_thread")]
async fn codes_count_towards_the_rate_limit_of_sign_ins() {
    let app = TestConfig::on(TestDatabase::sqlite()).with("RateLimits__LocalAuth", 2).start().await;

    let responses = [
        submit_code(&app, "nonsense", "123456").await,
        submit_code(&app, "nonsense", "123456").await,
        submit_code(&app, "nonsense", "123456").await,
    ];

    assert_eq!(responses.map(|it| it.status), [401, 401, 429]);
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_tokens_do_not_use_up_the_limit_of_the_account() {
    let ada = Ada::on(TestDatabase::sqlite()).await;
    for number in 0..30 {
        let response = submit_code(&ada.app, &format!("nonsense {number}"), "123456").await;
        assert_eq!(response.refusal(), (401, "invalid_mfa_token"));
    }

    let owner = submit_code(&ada.app, &ada.challenge().await, &ada.code()).await;

    assert_eq!(owner.status, 200, "{}", owner.text());
}
