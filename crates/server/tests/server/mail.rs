//! Tests of emails, from the outbox to the relay.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock, Mail, QueuedEmail, SystemClock, Timestamp};
use pia_server_testkit::harness::{TestApp, TestConfig};
use pia_server_testkit::on_both_databases;
use pia_server_testkit::polling::until;
use pia_server_testkit::relay::{DeliveredMail, FROM, FakeRelay, RelayBehaviour};
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

on_both_databases!(
    an_email_is_delivered_and_deleted,
    an_email_waits_for_a_relay_that_is_down,
    an_unsent_email_survives_a_restart,
    an_email_in_flight_on_a_crashed_server_is_sent_by_another,
    each_email_is_delivered_by_one_of_two_servers,
    an_email_that_the_relay_refuses_is_wiped,
    a_delivery_in_progress_is_completed_at_shutdown,
    emails_wait_until_a_relay_is_configured,
    a_deleted_account_receives_no_more_emails,
);

const CANARY: &str = "canary-4f1c9e7a";

fn invitation(at: Timestamp, number: usize) -> Mail {
    let link = format!("https://pia.example/{CANARY}/{number}");
    QueuedEmail::new("invitation").with("link", link).to_address(at, "canary@example.org")
}

/// Returns a manual clock, and the same clock for a server.
fn clock() -> (Arc<ManualClock>, Arc<dyn Clock>) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    (Arc::clone(&clock), clock)
}

async fn wait_until_empty(app: &TestApp) {
    until(async || app.mails().await.is_empty().then_some(())).await;
}

/// Waits until delivery of each email has failed.
async fn wait_until_tried(app: &TestApp) {
    until(async || {
        let mails = app.mails().await;
        mails.iter().all(|it| it.failure.is_some()).then_some(())
    })
    .await;
}

/// Returns a port without a listener.
async fn closed_port() -> u16 {
    let relay = FakeRelay::start().await;
    let port = relay.port;
    relay.stop().await;
    port
}

async fn open_at(port: u16) -> FakeRelay {
    FakeRelay::with_behaviour(RelayBehaviour { port, ..RelayBehaviour::default() }).await
}

async fn an_email_is_delivered_and_deleted(database: TestDatabase) {
    let relay = FakeRelay::start().await;
    let app =
        TestConfig::on(database).with_relay(&relay).with("Smtp__FromName", "Our Pia").start().await;
    let ada = app.sign_up("ada@example.org").await;

    app.queue(QueuedEmail::new("password-changed").to_user(SystemClock.now(), ada.user_id())).await;

    let mail = relay.next_mail().await;
    assert_eq!(mail.from, FROM);
    assert_eq!(mail.to, ["ada@example.org"]);
    assert_eq!(mail.subject(), "Your password was changed");
    assert_eq!(mail.header("from"), Some("Our Pia <pia@pia.example>"));
    assert!(mail.html.contains("Your password was changed"), "{}", mail.html);

    let forgot = format!("{}/auth/forgot-password.html", app.config.latest().server.public_url);
    assert_eq!(mail.link(), forgot);
    wait_until_empty(&app).await;
    // Counted after the deletion.
    until(async || {
        let metrics = app.anonymous().get("/metrics").await.text();
        metrics.contains("\npia_mails_sent_total 1\n").then_some(())
    })
    .await;
}

async fn an_email_waits_for_a_relay_that_is_down(database: TestDatabase) {
    let (clock, of_server) = clock();
    let port = closed_port().await;
    let app = TestConfig::on(database).with_relay_at(port).at(of_server).start().await;

    app.queue(invitation(clock.now(), 1)).await;
    wait_until_tried(&app).await;
    let relay = open_at(port).await;
    clock.advance(Duration::from_mins(1));

    assert!(relay.next_mail().await.link().ends_with("/1"));
    wait_until_empty(&app).await;
    assert!(relay.stop().await.is_empty(), "it is sent once");
}

async fn an_unsent_email_survives_a_restart(database: TestDatabase) {
    let (clock, of_server) = clock();
    let port = closed_port().await;
    let first_server =
        TestConfig::on(database).with_relay_at(port).at(Arc::clone(&of_server)).start().await;
    for number in 0..3 {
        first_server.queue(invitation(clock.now(), number)).await;
    }
    wait_until_tried(&first_server).await;
    let second = TestConfig::beside(&first_server).with_relay_at(port).at(of_server);
    drop(first_server);
    let relay = open_at(port).await;
    clock.advance(Duration::from_mins(1));

    let second = second.start().await;

    wait_until_empty(&second).await;
    assert_eq!(distinct(&relay.stop().await), (3, 3));
}

async fn an_email_in_flight_on_a_crashed_server_is_sent_by_another(database: TestDatabase) {
    let (clock, of_server) = clock();
    let silent =
        FakeRelay::with_behaviour(RelayBehaviour { silent: true, ..RelayBehaviour::default() })
            .await;
    let relay = FakeRelay::start().await;
    let first_server =
        TestConfig::on(database).with_relay(&silent).at(Arc::clone(&of_server)).start().await;
    first_server.queue(invitation(clock.now(), 1)).await;
    until(async || (first_server.mails().await[0].tries == 1).then_some(())).await;
    let second = TestConfig::beside(&first_server).with_relay(&relay).at(of_server);

    let second = second.start().await;
    clock.advance(Duration::from_mins(5));

    assert!(relay.next_mail().await.link().ends_with("/1"));
    wait_until_empty(&second).await;
    assert!(relay.stop().await.is_empty(), "it is sent once");
}

async fn each_email_is_delivered_by_one_of_two_servers(database: TestDatabase) {
    let relay = FakeRelay::start().await;
    let first_server = TestConfig::on(database).with_relay(&relay).start().await;
    let second_server = TestConfig::beside(&first_server).with_relay(&relay).start().await;

    for number in 0..40 {
        [&first_server, &second_server][number % 2]
            .queue(invitation(SystemClock.now(), number))
            .await;
    }

    wait_until_empty(&first_server).await;
    assert_eq!(distinct(&relay.stop().await), (40, 40));
}

/// Returns the number of mails, and the number of distinct ones.
fn distinct(mails: &[DeliveredMail]) -> (usize, usize) {
    let links: BTreeSet<_> = mails.iter().map(DeliveredMail::link).collect();
    (mails.len(), links.len())
}

async fn an_email_that_the_relay_refuses_is_wiped(database: TestDatabase) {
    let relay =
        FakeRelay::with_behaviour(RelayBehaviour { refuse: true, ..RelayBehaviour::default() })
            .await;
    let app = TestConfig::on(database).with_relay(&relay).start().await;

    app.queue(invitation(SystemClock.now(), 1)).await;
    wait_until_tried(&app).await;

    let stored_mail = &app.mails().await[0];
    let reason = stored_mail.failure.as_deref().unwrap_or_default();
    assert_eq!(stored_mail.template, "invitation");
    assert_eq!(stored_mail.tries, 1);
    assert!(!stored_mail.is_sealed);
    assert!(reason.contains("(550)") && !reason.contains("canary"), "{reason}");
}

async fn a_delivery_in_progress_is_completed_at_shutdown(database: TestDatabase) {
    let silent =
        FakeRelay::with_behaviour(RelayBehaviour { silent: true, ..RelayBehaviour::default() })
            .await;
    let app =
        TestConfig::on(database).with_relay(&silent).with("Smtp__Timeout", "2s").start().await;
    app.queue(invitation(SystemClock.now(), 1)).await;
    until(async || (app.mails().await[0].tries == 1).then_some(())).await;

    app.stop.cancel();

    wait_until_tried(&app).await;
    assert!(app.mails().await[0].is_sealed, "it is sent by the next one");
}

async fn emails_wait_until_a_relay_is_configured(database: TestDatabase) {
    let relay = FakeRelay::start().await;
    let app = TestConfig::on(database).start().await;
    app.queue(invitation(SystemClock.now(), 1)).await;

    app.reload(&json!({ "Smtp": {
        "Host": "localhost", "Port": relay.port.to_string(), "Security": "none", "From": FROM,
        "Language": "de",
    } }));

    assert!(relay.next_mail().await.html.contains(r#"<html lang="de">"#));
    wait_until_empty(&app).await;
}

async fn a_deleted_account_receives_no_more_emails(database: TestDatabase) {
    let (clock, of_server) = clock();
    let port = closed_port().await;
    let app = TestConfig::on(database).with_relay_at(port).at(of_server).start().await;
    let ada = app.sign_up("ada@example.org").await;
    app.queue(QueuedEmail::new("new-device").to_user(clock.now(), ada.user_id())).await;

    app.remove(ada.user_id()).await;

    assert!(app.mails().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_content_of_an_email_is_never_stored_in_plaintext() {
    let (clock, of_server) = clock();
    let port = closed_port().await;
    let app =
        TestConfig::on(TestDatabase::sqlite()).with_relay_at(port).at(of_server).start().await;
    app.queue(invitation(clock.now(), 1)).await;
    wait_until_tried(&app).await;

    let waiting = database_bytes(&app);
    let relay = open_at(port).await;
    clock.advance(Duration::from_mins(1));
    let mail = relay.next_mail().await;
    wait_until_empty(&app).await;
    let sent_bytes = database_bytes(&app);

    assert!(mail.raw.contains(CANARY), "the email contains the canary");
    for bytes in [waiting, sent_bytes] {
        assert!(bytes.len() > 10_000, "the database is not empty");
        for part in [CANARY, "canary@example.org"] {
            assert!(!bytes.windows(part.len()).any(|it| it == part.as_bytes()), "{part}");
        }
    }
}

/// Returns all bytes of the database, including free pages and logs.
fn database_bytes(app: &TestApp) -> Vec<u8> {
    let files = app.database_files().into_iter();
    files.flat_map(|it| std::fs::read(it).expect("a file")).collect()
}
