//! Deleting accounts.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::harness::TestConfig;
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;

use super::*;

on_both_databases!(
    a_deleted_account_is_gone_at_once,
    a_repeated_deletion_finds_no_account,
    deletion_requires_a_live_session_of_the_owner,
    wrong_passwords_are_counted_with_wrong_proofs,
    the_last_administrator_cannot_be_deleted,
    of_concurrent_deletions_one_succeeds,
    a_sign_in_during_the_deletion_succeeds_or_is_refused_as_usual,
    a_provider_account_requires_a_fresh_sign_in,
    a_deletion_takes_effect_on_other_instances,
    concurrent_writes_succeed_until_the_session_ends,
);

async fn a_deleted_account_is_gone_at_once(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let other_session = another_session(&app.anonymous(), "ada@example.org").await;
    let bob = app.sign_up("bob@example.org").await;
    for client in [&ada, &other_session, &bob] {
        assert_eq!(client.get("/auth/me").await.status, 200);
    }

    let response = delete_account(&ada, PASSWORD).await;

    assert_eq!(response.status, 200);
    assert_eq!(response.body, json!({ "deleted": true }));
    for client in [&ada, &other_session] {
        assert_eq!(client.get("/auth/me").await.refusal(), (401, "unauthorized"));
        assert_eq!(refresh(&app.anonymous(), refresh_token(client)).await.status, 401);
    }

    let second_response = sign_in(&app.anonymous(), "ada@example.org", PASSWORD).await;
    assert_eq!(second_response.refusal(), (401, "invalid_credentials"));
    assert_eq!(bob.get("/auth/me").await.status, 200);

    // The address is free for a new account.
    let new_client = app.sign_up("ada@example.org").await;
    assert_ne!(new_client.user, ada.user);
    assert_eq!(
        new_client.get("/auth/login-history").await.body["items"].as_array().map(Vec::len),
        Some(1)
    );
}

async fn a_repeated_deletion_finds_no_account(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let other_session = another_session(&app.anonymous(), "ada@example.org").await;
    assert_eq!(delete_account(&ada, PASSWORD).await.status, 200);

    for client in [&ada, &ada, &other_session] {
        assert_eq!(delete_account(client, PASSWORD).await.refusal(), (404, "user_not_found"));
        let wrong_response = client.post(DELETE, &json!({})).await;
        assert_eq!(wrong_response.refusal(), (404, "user_not_found"));
    }
    assert_eq!(ada.get(EXPORT).await.refusal(), (401, "unauthorized"));
}

async fn deletion_requires_a_live_session_of_the_owner(database: TestDatabase) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock)).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let revoked_client = another_session(&app.anonymous(), "ada@example.org").await;
    log_out(&app.anonymous(), refresh_token(&revoked_client)).await;
    let forged_client =
        Client { access: ada.access.as_ref().map(|it| format!("{it}x")), ..ada.clone() };

    for client in [&app.anonymous(), &revoked_client, &forged_client] {
        assert_eq!(delete_account(client, PASSWORD).await.refusal(), (401, "unauthorized"));
    }

    execute(&app, "UPDATE accounts SET deactivated_at = created_at").await;
    clock.advance(Duration::from_secs(6));
    assert_eq!(delete_account(&ada, PASSWORD).await.refusal(), (401, "unauthorized"));

    execute(&app, "UPDATE accounts SET deactivated_at = NULL").await;
    clock.advance(Duration::from_mins(15));
    assert_eq!(delete_account(&ada, PASSWORD).await.refusal(), (401, "unauthorized"));

    let ada = another_session(&app.anonymous(), "ada@example.org").await;
    assert_eq!(delete_account(&ada, PASSWORD).await.status, 200);
    // An expired token reveals nothing.
    clock.advance(Duration::from_mins(15));
    assert_eq!(delete_account(&ada, PASSWORD).await.refusal(), (401, "unauthorized"));
}

async fn wrong_passwords_are_counted_with_wrong_proofs(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;

    let mut responses = Vec::new();
    for guess in 0..11 {
        responses.push(delete_account(&ada, &format!("guess {guess}")).await);
    }
    let correct_response = delete_account(&ada, PASSWORD).await;

    let (last, first) = responses.split_last().expect("responses");
    assert!(first.iter().all(|it| it.refusal() == (400, "invalid_password")));
    assert_eq!(last.refusal(), (429, "rate_limited"));
    assert!(last.header("retry-after").is_some());
    assert_eq!(correct_response.refusal(), (429, "rate_limited"));
    assert_eq!(ada.get("/auth/me").await.status, 200);
}

async fn the_last_administrator_cannot_be_deleted(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let bob = app.sign_up("bob@example.org").await;
    execute(&app, "UPDATE accounts SET role = 'admin'").await;

    let (first, second) =
        tokio::join!(delete_account(&ada, PASSWORD), delete_account(&bob, PASSWORD));

    let (deleted, refused) = if first.status == 200 { (first, second) } else { (second, first) };
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    assert_eq!(refused.refusal(), (409, "last_admin"));
}

async fn of_concurrent_deletions_one_succeeds(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;

    let responses = join_all((0..6).map(|_| delete_account(&ada, PASSWORD))).await;

    let count = |status| responses.iter().filter(|it| it.status == status).count();
    let texts: Vec<_> = responses.iter().map(TestResponse::text).collect();
    assert_eq!(count(200), 1, "{texts:?}");
    assert_eq!(count(404), 5, "{texts:?}");
}

async fn a_sign_in_during_the_deletion_succeeds_or_is_refused_as_usual(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    for round in 0..4 {
        let email = format!("ada{round}@example.org");
        let ada = app.sign_up(&email).await;
        let stranger = app.anonymous();
        let password = json!({ "password": PASSWORD });

        let (deleted, signed_in, setups) = tokio::join!(
            delete_account(&ada, PASSWORD),
            join_all((0..5).map(|_| sign_in(&stranger, &email, PASSWORD))),
            join_all((0..3).map(|_| ada.post("/auth/mfa/totp/begin", &password))),
        );

        assert_eq!(deleted.status, 200, "{round}: {}", deleted.text());
        for response in signed_in.iter().filter(|it| it.status != 200) {
            assert_eq!(response.refusal(), (401, "invalid_credentials"));
        }
        for response in setups.iter().filter(|it| it.status != 200) {
            assert_eq!(response.refusal(), (401, "unauthorized"));
        }
    }
}

async fn a_provider_account_requires_a_fresh_sign_in(database: TestDatabase) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = TestConfig::on(database).at(Arc::<ManualClock>::clone(&clock)).start().await;
    let stolen = app.sign_up("ada@example.org").await;
    clock.advance(Duration::from_secs(601));
    let ada = another_session(&app.anonymous(), "ada@example.org").await;
    execute(&app, "UPDATE accounts SET provider = 'google', password_hash = NULL").await;
    let body = json!({ "confirm": "DELETE", "password": null });

    let refused_response = stolen.post(DELETE, &body).await;
    let response = ada.post(DELETE, &body).await;

    assert_eq!(refused_response.refusal(), (403, "fresh_sign_in_required"));

    assert_eq!(response.status, 200);
    assert_eq!(response.body, json!({ "deleted": true }));
}

async fn a_deletion_takes_effect_on_other_instances(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let beside = TestConfig::beside(&app).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let remote_client = Client { addr: beside.addr, ..ada.clone() };
    assert_eq!(remote_client.get("/auth/me").await.status, 200);

    assert_eq!(delete_account(&ada, PASSWORD).await.status, 200);

    assert_eq!(delete_account(&remote_client, PASSWORD).await.refusal(), (404, "user_not_found"));
    assert_eq!(remote_client.get("/auth/me").await.refusal(), (401, "unauthorized"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_confirmation_deletes_nothing() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada@example.org").await;
    let long_text = "x".repeat(9000);

    for (body, field, code) in [
        (json!({}), "confirm", "required"),
        (json!({ "confirm": null, "password": PASSWORD }), "confirm", "required"),
        (json!({ "confirm": "delete", "password": PASSWORD }), "confirm", "invalid"),
        (json!({ "confirm": "DELETE\u{0}", "password": PASSWORD }), "confirm", "invalid"),
        (json!({ "confirm": long_text, "password": PASSWORD }), "confirm", "invalid"),
    ] {
        let response = ada.post(DELETE, &body).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{body}");
        let reported = (&response.body["errors"][0]["field"], &response.body["errors"][0]["code"]);
        assert_eq!(reported, (&json!(field), &json!(code)), "{body}");
    }
    for body in [json!({ "confirm": "DELETE" }), json!({ "confirm": "DELETE", "password": null })] {
        assert_eq!(ada.post(DELETE, &body).await.refusal(), (400, "invalid_password"), "{body}");
    }
    for (body, field) in [
        (json!({ "confirm": true, "password": PASSWORD }), "confirm"),
        (json!({ "confirm": "DELETE", "password": 5 }), "password"),
        (json!({ "confirm": "DELETE", "password": [PASSWORD] }), "password"),
    ] {
        let response = ada.post(DELETE, &body).await;
        assert_eq!(response.refusal(), (400, "validation_failed"), "{body}");
        assert_eq!(response.body["errors"][0]["field"], field, "{body}");
    }
    for password in
        ["", &*long_text, "correct horse battery staple\u{0}", "Correct horse battery staple"]
    {
        assert_eq!(
            delete_account(&ada, password).await.refusal(),
            (400, "invalid_password"),
            "{password}"
        );
    }

    assert_eq!(ada.get("/auth/me").await.status, 200);
}

async fn concurrent_writes_succeed_until_the_session_ends(database: TestDatabase) {
    let app = TestConfig::on(database).start().await;
    let ada = app.signed_in().await;
    let write = async || {
        let mut statuses = Vec::new();
        loop {
            let id = uuid::Uuid::now_v7().to_string();
            let response = pia_server_testkit::chats::put(
                &ada,
                &pia_server_testkit::chats::chat(&id, "2026-08-01T09:14:02Z"),
            )
            .await;
            statuses.push(response.status);
            if response.status != 201 {
                return statuses;
            }
        }
    };
    let deletion = async {
        while ada.get("/auth/account").await.body["storage"]["current"] == 0 {}
        delete_account(&ada, PASSWORD).await
    };

    let (response, writers) = tokio::join!(deletion, join_all((0..8).map(|_| write())));

    assert_eq!(response.status, 200, "{}", response.text());
    for statuses in writers {
        assert_eq!(statuses.last(), Some(&401), "{statuses:?}");
    }
}
