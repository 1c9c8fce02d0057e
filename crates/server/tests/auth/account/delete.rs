//! Leaving for good.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use pia_kernel::{Clock as _, SystemClock};
use pia_server_testkit::harness::Setting;
use pia_server_testkit::on_both_databases;
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;

use super::*;

on_both_databases!(
    who_leaves_is_gone_at_once,
    who_requests_again_is_informed_that_it_is_done,
    only_the_owner_of_a_live_session_may,
    wrong_passwords_are_counted_with_wrong_proofs,
    the_last_administrator_stays,
    of_many_who_ask_at_once_all_are_informed_that_it_is_done,
    who_signs_in_beside_their_deletion_comes_in_or_is_refused_like_anybody,
    whom_a_provider_vouches_for_signs_in_again,
    another_instance_knows_too,
    who_writes_meanwhile_is_answered_or_signed_out,
);

async fn who_leaves_is_gone_at_once(database: TestDatabase) {
    let app = Setting::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let other = another_session(&app.stranger(), "ada@example.org").await;
    let bob = app.sign_up("bob@example.org").await;
    for client in [&ada, &other, &bob] {
        assert_eq!(client.get("/auth/me").await.status, 200);
    }

    let answer = leave(&ada, PASSWORD).await;

    assert_eq!((answer.status, &answer.body), (200, &json!({ "deleted": true })));
    for client in [&ada, &other] {
        assert_eq!(client.get("/auth/me").await.refusal(), (401, "unauthorized"));
        assert_eq!(refresh(&app.stranger(), spent(client)).await.status, 401);
    }
    let again = sign_in(&app.stranger(), "ada@example.org", PASSWORD).await;
    assert_eq!(again.refusal(), (401, "invalid_credentials"));
    assert_eq!(bob.get("/auth/me").await.status, 200);
    // The address is free, and whoever takes it is somebody else.
    let new = app.sign_up("ada@example.org").await;
    assert_ne!(new.user, ada.user);
    assert_eq!(
        new.get("/auth/login-history").await.body["items"].as_array().map(Vec::len),
        Some(1)
    );
}

async fn who_requests_again_is_informed_that_it_is_done(database: TestDatabase) {
    let app = Setting::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let other = another_session(&app.stranger(), "ada@example.org").await;
    assert_eq!(leave(&ada, PASSWORD).await.status, 200);

    for client in [&ada, &ada, &other] {
        assert_eq!(leave(client, PASSWORD).await.refusal(), (404, "user_not_found"));
        let wrong = client.post(DELETE, &json!({})).await;
        assert_eq!(wrong.refusal(), (404, "user_not_found"));
    }
    assert_eq!(ada.get(EXPORT).await.refusal(), (401, "unauthorized"));
}

async fn only_the_owner_of_a_live_session_may(database: TestDatabase) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = Setting::on(database).at(Arc::<ManualClock>::clone(&clock)).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let revoked = another_session(&app.stranger(), "ada@example.org").await;
    log_out(&app.stranger(), spent(&revoked)).await;
    let forged = Client { access: ada.access.as_ref().map(|it| format!("{it}x")), ..ada.clone() };

    for client in [&app.stranger(), &revoked, &forged] {
        assert_eq!(leave(client, PASSWORD).await.refusal(), (401, "unauthorized"));
    }
    execute(&app, "UPDATE accounts SET deactivated_at = created_at").await;
    clock.advance(Duration::from_secs(6));
    assert_eq!(leave(&ada, PASSWORD).await.refusal(), (401, "unauthorized"));
    execute(&app, "UPDATE accounts SET deactivated_at = NULL").await;
    clock.advance(Duration::from_mins(15));
    assert_eq!(leave(&ada, PASSWORD).await.refusal(), (401, "unauthorized"));
    let ada = another_session(&app.stranger(), "ada@example.org").await;
    assert_eq!(leave(&ada, PASSWORD).await.status, 200);
    // An expired token reveals nothing.
    clock.advance(Duration::from_mins(15));
    assert_eq!(leave(&ada, PASSWORD).await.refusal(), (401, "unauthorized"));
}

async fn wrong_passwords_are_counted_with_wrong_proofs(database: TestDatabase) {
    let app = Setting::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;

    let mut reported = Vec::new();
    for guess in 0..11 {
        reported.push(leave(&ada, &format!("guess {guess}")).await);
    }
    let right = leave(&ada, PASSWORD).await;

    let (last, first) = reported.split_last().expect("answers");
    assert!(first.iter().all(|it| it.refusal() == (400, "invalid_password")));
    assert_eq!(last.refusal(), (429, "rate_limited"));
    assert!(last.header("retry-after").is_some());
    assert_eq!(right.refusal(), (429, "rate_limited"));
    assert_eq!(ada.get("/auth/me").await.status, 200);
}

async fn the_last_administrator_stays(database: TestDatabase) {
    let app = Setting::on(database).start().await;
    let (ada, bob) = (app.sign_up("ada@example.org").await, app.sign_up("bob@example.org").await);
    execute(&app, "UPDATE accounts SET role = 'admin'").await;

    let (first, second) = tokio::join!(leave(&ada, PASSWORD), leave(&bob, PASSWORD));

    let (gone, stays) = if first.status == 200 { (first, second) } else { (second, first) };
    assert_eq!(gone.status, 200, "{}", gone.text());
    assert_eq!(stays.refusal(), (409, "last_admin"));
}

async fn of_many_who_ask_at_once_all_are_informed_that_it_is_done(database: TestDatabase) {
    let app = Setting::on(database).start().await;
    let ada = app.sign_up("ada@example.org").await;

    let reported = join_all((0..6).map(|_| leave(&ada, PASSWORD))).await;

    let count = |status| reported.iter().filter(|it| it.status == status).count();
    let reported: Vec<_> = reported.iter().map(Answer::text).collect();
    assert_eq!((count(200), count(404)), (1, 5), "{reported:?}");
}

async fn who_signs_in_beside_their_deletion_comes_in_or_is_refused_like_anybody(
    database: TestDatabase,
) {
    let app = Setting::on(database).start().await;
    for round in 0..4 {
        let email = format!("ada{round}@example.org");
        let (ada, stranger) = (app.sign_up(&email).await, app.stranger());
        let password = json!({ "password": PASSWORD });

        let (left, signed_in, begun) = tokio::join!(
            leave(&ada, PASSWORD),
            join_all((0..5).map(|_| sign_in(&stranger, &email, PASSWORD))),
            join_all((0..3).map(|_| ada.post("/auth/mfa/totp/begin", &password))),
        );

        assert_eq!(left.status, 200, "{round}: {}", left.text());
        for answer in signed_in.iter().filter(|it| it.status != 200) {
            assert_eq!(answer.refusal(), (401, "invalid_credentials"));
        }
        for answer in begun.iter().filter(|it| it.status != 200) {
            assert_eq!(answer.refusal(), (401, "unauthorized"));
        }
    }
}

async fn whom_a_provider_vouches_for_signs_in_again(database: TestDatabase) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let app = Setting::on(database).at(Arc::<ManualClock>::clone(&clock)).start().await;
    let stolen = app.sign_up("ada@example.org").await;
    clock.advance(Duration::from_secs(601));
    let ada = another_session(&app.stranger(), "ada@example.org").await;
    execute(&app, "UPDATE accounts SET provider = 'google', password_hash = NULL").await;
    let farewell = json!({ "confirm": "DELETE", "password": null });

    let refused = stolen.post(DELETE, &farewell).await;
    let answer = ada.post(DELETE, &farewell).await;

    assert_eq!(refused.refusal(), (403, "fresh_sign_in_required"));

    assert_eq!((answer.status, &answer.body), (200, &json!({ "deleted": true })));
}

async fn another_instance_knows_too(database: TestDatabase) {
    let app = Setting::on(database).start().await;
    let beside = Setting::beside(&app).start().await;
    let ada = app.sign_up("ada@example.org").await;
    let there = Client { addr: beside.addr, ..ada.clone() };
    assert_eq!(there.get("/auth/me").await.status, 200);

    assert_eq!(leave(&ada, PASSWORD).await.status, 200);

    assert_eq!(leave(&there, PASSWORD).await.refusal(), (404, "user_not_found"));
    assert_eq!(there.get("/auth/me").await.refusal(), (401, "unauthorized"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_confirmed_correctly_deletes_nothing() {
    let app = TestApp::spawn().await;
    let ada = app.sign_up("ada@example.org").await;
    let long = "x".repeat(9000);

    for (body, field, code) in [
        (json!({}), "confirm", "required"),
        (json!({ "confirm": null, "password": PASSWORD }), "confirm", "required"),
        (json!({ "confirm": "delete", "password": PASSWORD }), "confirm", "invalid"),
        (json!({ "confirm": "DELETE\u{0}", "password": PASSWORD }), "confirm", "invalid"),
        (json!({ "confirm": long, "password": PASSWORD }), "confirm", "invalid"),
    ] {
        let answer = ada.post(DELETE, &body).await;
        assert_eq!(answer.refusal(), (400, "validation_failed"), "{body}");
        let reported = (&answer.body["errors"][0]["field"], &answer.body["errors"][0]["code"]);
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
        let answer = ada.post(DELETE, &body).await;
        assert_eq!(answer.refusal(), (400, "validation_failed"), "{body}");
        assert_eq!(answer.body["errors"][0]["field"], field, "{body}");
    }
    for password in
        ["", &*long, "correct horse battery staple\u{0}", "Correct horse battery staple"]
    {
        assert_eq!(leave(&ada, password).await.refusal(), (400, "invalid_password"), "{password}");
    }
    assert_eq!(ada.get("/auth/me").await.status, 200);
}

async fn who_writes_meanwhile_is_answered_or_signed_out(database: TestDatabase) {
    let app = Setting::on(database).start().await;
    let ada = app.signed_in().await;
    let write = async || {
        let mut statuses = Vec::new();
        loop {
            let id = uuid::Uuid::now_v7().to_string();
            let answer = pia_server_testkit::chats::put(
                &ada,
                &pia_server_testkit::chats::chat(&id, "2026-08-01T09:14:02Z"),
            )
            .await;
            statuses.push(answer.status);
            if answer.status != 201 {
                return statuses;
            }
        }
    };
    let left = async {
        while ada.get("/auth/account").await.body["storage"]["current"] == 0 {}
        leave(&ada, PASSWORD).await
    };

    let (left, written) = tokio::join!(left, join_all((0..8).map(|_| write())));

    assert_eq!(left.status, 200, "{}", left.text());
    for statuses in written {
        assert_eq!(statuses.last(), Some(&401), "{statuses:?}");
    }
}
