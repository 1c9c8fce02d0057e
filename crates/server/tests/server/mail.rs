//! Mail, from the outbox to the relay.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Clock, Mail, QueuedEmail, SystemClock, Timestamp};
use pia_server_testkit::harness::{Setting, TestApp};
use pia_server_testkit::on_both_databases;
use pia_server_testkit::patience::until;
use pia_server_testkit::relay::{DeliveredMail, FROM, FakeRelay, RelayBehaviour};
use pia_testkit::ManualClock;
use pia_testkit::databases::TestDatabase;
use serde_json::json;

on_both_databases!(
    a_letter_is_delivered_and_forgotten,
    a_letter_waits_for_a_relay_that_is_down,
    a_letter_outlives_the_server_that_could_not_send_it,
    a_letter_in_flight_when_a_server_dies_is_sent_by_another,
    of_two_servers_one_delivers_each_letter,
    a_letter_that_the_relay_refuses_is_wiped,
    a_letter_in_hand_is_seen_through_when_the_server_ends,
    letters_wait_until_a_relay_is_set,
    whoever_deletes_their_account_is_written_to_no_more,
);

const CANARY: &str = "canary-4f1c9e7a";

fn invitation(at: Timestamp, number: usize) -> Mail {
    let link = format!("https://pia.example/{CANARY}/{number}");
    QueuedEmail::new("invitation").with("link", link).to_address(at, "canary@example.org")
}

/// A clock that tests move, and the same for a server.
fn clock() -> (Arc<ManualClock>, Arc<dyn Clock>) {
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    (Arc::clone(&clock), clock)
}

async fn empty(app: &TestApp) {
    until(async || app.mails().await.is_empty().then_some(())).await;
}

/// Until each of its letters was tried in vain.
async fn tried(app: &TestApp) {
    until(async || {
        let mails = app.mails().await;
        mails.iter().all(|it| it.failure.is_some()).then_some(())
    })
    .await;
}

/// A port on which nobody listens.
async fn closed_port() -> u16 {
    let relay = FakeRelay::start().await;
    let port = relay.port;
    relay.stop().await;
    port
}

async fn open_at(port: u16) -> FakeRelay {
    FakeRelay::with_behaviour(RelayBehaviour { port, ..RelayBehaviour::default() }).await
}

async fn a_letter_is_delivered_and_forgotten(database: TestDatabase) {
    let relay = FakeRelay::start().await;
    let app = Setting::on(database).with_relay(&relay).with("Smtp__FromName", "Our Pia");
    let app = app.start().await;
    let ada = app.sign_up("ada@example.org").await;

    app.queue(QueuedEmail::new("password-changed").to_user(SystemClock.now(), ada.user_id())).await;

    let mail = relay.next_mail().await;
    assert_eq!((&*mail.from, &*mail.to), (FROM, &["ada@example.org".to_owned()][..]));
    assert_eq!(mail.subject(), "Your password was changed");
    assert_eq!(mail.header("from"), Some("Our Pia <pia@pia.example>"));
    assert!(mail.html.contains("Your password was changed"), "{}", mail.html);
    let forgot = format!("{}/auth/forgot-password.html", app.config.latest().server.public_url);
    assert_eq!(mail.link(), forgot);
    empty(&app).await;
    let metrics = app.stranger().get("/metrics").await.text();
    assert!(metrics.contains("\npia_mails_sent_total 1\n"), "{metrics}");
}

async fn a_letter_waits_for_a_relay_that_is_down(database: TestDatabase) {
    let ((clock, of_server), port) = (clock(), closed_port().await);
    let app = Setting::on(database).with_relay_at(port).at(of_server).start().await;

    app.queue(invitation(clock.now(), 1)).await;
    tried(&app).await;
    let relay = open_at(port).await;
    clock.advance(Duration::from_mins(1));

    assert!(relay.next_mail().await.link().ends_with("/1"));
    empty(&app).await;
    assert!(relay.stop().await.is_empty(), "it is sent once");
}

async fn a_letter_outlives_the_server_that_could_not_send_it(database: TestDatabase) {
    let ((clock, of_server), port) = (clock(), closed_port().await);
    let first = Setting::on(database).with_relay_at(port).at(Arc::clone(&of_server));
    let first = first.start().await;
    for number in 0..3 {
        first.queue(invitation(clock.now(), number)).await;
    }
    tried(&first).await;
    let second = Setting::beside(&first).with_relay_at(port).at(of_server);
    drop(first);
    let relay = open_at(port).await;
    clock.advance(Duration::from_mins(1));

    let second = second.start().await;

    empty(&second).await;
    assert_eq!(different(&relay.stop().await), (3, 3));
}

async fn a_letter_in_flight_when_a_server_dies_is_sent_by_another(database: TestDatabase) {
    let (clock, of_server) = clock();
    let silent =
        FakeRelay::with_behaviour(RelayBehaviour { silent: true, ..RelayBehaviour::default() })
            .await;
    let relay = FakeRelay::start().await;
    let first = Setting::on(database).with_relay(&silent).at(Arc::clone(&of_server));
    let first = first.start().await;
    first.queue(invitation(clock.now(), 1)).await;
    until(async || (first.mails().await[0].tries == 1).then_some(())).await;
    let second = Setting::beside(&first).with_relay(&relay).at(of_server);

    let second = second.start().await;
    clock.advance(Duration::from_mins(5));

    assert!(relay.next_mail().await.link().ends_with("/1"));
    empty(&second).await;
    assert!(relay.stop().await.is_empty(), "it is sent once");
}

async fn of_two_servers_one_delivers_each_letter(database: TestDatabase) {
    let relay = FakeRelay::start().await;
    let first = Setting::on(database).with_relay(&relay).start().await;
    let second = Setting::beside(&first).with_relay(&relay).start().await;

    for number in 0..40 {
        [&first, &second][number % 2].queue(invitation(SystemClock.now(), number)).await;
    }

    empty(&first).await;
    assert_eq!(different(&relay.stop().await), (40, 40));
}

/// Returns the number of mails, and how many different ones.
fn different(mails: &[DeliveredMail]) -> (usize, usize) {
    let links: BTreeSet<_> = mails.iter().map(DeliveredMail::link).collect();
    (mails.len(), links.len())
}

async fn a_letter_that_the_relay_refuses_is_wiped(database: TestDatabase) {
    let relay =
        FakeRelay::with_behaviour(RelayBehaviour { refuse: true, ..RelayBehaviour::default() })
            .await;
    let app = Setting::on(database).with_relay(&relay).start().await;

    app.queue(invitation(SystemClock.now(), 1)).await;
    tried(&app).await;

    let stored = &app.mails().await[0];
    let why = stored.failure.as_deref().unwrap_or_default();
    assert_eq!((&*stored.letter, stored.tries, stored.is_sealed), ("invitation", 1, false));
    assert!(why.contains("(550)") && !why.contains("canary"), "{why}");
}

async fn a_letter_in_hand_is_seen_through_when_the_server_ends(database: TestDatabase) {
    let silent =
        FakeRelay::with_behaviour(RelayBehaviour { silent: true, ..RelayBehaviour::default() })
            .await;
    let app = Setting::on(database).with_relay(&silent).with("Smtp__Timeout", "2s");
    let app = app.start().await;
    app.queue(invitation(SystemClock.now(), 1)).await;
    until(async || (app.mails().await[0].tries == 1).then_some(())).await;

    app.stop.cancel();

    tried(&app).await;
    assert!(app.mails().await[0].is_sealed, "it is sent by the next one");
}

async fn letters_wait_until_a_relay_is_set(database: TestDatabase) {
    let relay = FakeRelay::start().await;
    let app = Setting::on(database).start().await;
    app.queue(invitation(SystemClock.now(), 1)).await;

    app.reload(&json!({ "Smtp": {
        "Host": "localhost", "Port": relay.port.to_string(), "Security": "none", "From": FROM,
        "Language": "de",
    } }));

    assert!(relay.next_mail().await.html.contains(r#"<html lang="de">"#));
    empty(&app).await;
}

async fn whoever_deletes_their_account_is_written_to_no_more(database: TestDatabase) {
    let ((clock, of_server), port) = (clock(), closed_port().await);
    let app = Setting::on(database).with_relay_at(port).at(of_server).start().await;
    let ada = app.sign_up("ada@example.org").await;
    app.queue(QueuedEmail::new("new-device").to_user(clock.now(), ada.user_id())).await;

    app.remove(ada.user_id()).await;

    assert!(app.mails().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_letter_states_is_never_stored_in_plain() {
    let ((clock, of_server), port) = (clock(), closed_port().await);
    let app = Setting::on(TestDatabase::sqlite()).with_relay_at(port).at(of_server).start().await;
    app.queue(invitation(clock.now(), 1)).await;
    tried(&app).await;

    let waiting = stored(&app);
    let relay = open_at(port).await;
    clock.advance(Duration::from_mins(1));
    let mail = relay.next_mail().await;
    empty(&app).await;
    let sent = stored(&app);

    assert!(mail.raw.contains(CANARY), "there is something to look for");
    for bytes in [waiting, sent] {
        assert!(bytes.len() > 10_000, "there is somewhere to look");
        for part in [CANARY, "canary@example.org"] {
            assert!(!bytes.windows(part.len()).any(|it| it == part.as_bytes()), "{part}");
        }
    }
}

/// Every byte of the database, free pages and logs included.
fn stored(app: &TestApp) -> Vec<u8> {
    let files = app.database_files().into_iter();
    files.flat_map(|it| std::fs::read(it).expect("a file")).collect()
}
