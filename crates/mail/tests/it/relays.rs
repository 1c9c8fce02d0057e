//! Relays that do and do not do as they should.

use std::time::Duration;

use pia_kernel::LiveSetting;
use pia_mail::{MailSettings, SmtpRelay};
use pia_outbox::{Relay as _, RelayOutcome};
use pia_testkit::relay::{FakeRelay, RelayBehaviour};

use crate::scene::{away, credentials, mail, send, settings, smtp};

#[tokio::test]
async fn mails_go_over_one_connection_until_there_are_no_more() {
    let relay = FakeRelay::start().await;
    let smtp = smtp(settings(&relay));

    for _ in 0..5 {
        smtp.send(&mail("ada@example.org")).await;
    }
    smtp.rest().await;
    smtp.send(&mail("ada@example.org")).await;

    let connections: Vec<_> = relay.stop().await.iter().map(|it| it.connection).collect();
    assert_eq!(connections, [1, 1, 1, 1, 1, 2]);
}

#[tokio::test]
async fn a_connection_that_ended_while_it_idled_is_replaced() {
    let relay = FakeRelay::start().await;
    let (port, smtp) = (relay.port, smtp(settings(&relay)));
    smtp.send(&mail("ada@example.org")).await;
    relay.stop().await;
    let relay =
        FakeRelay::with_behaviour(RelayBehaviour { port, ..RelayBehaviour::default() }).await;

    let sent = smtp.send(&mail("ada@example.org")).await;

    assert_eq!(sent, RelayOutcome::Accepted);
    assert_eq!(relay.stop().await.len(), 1);
}

#[tokio::test]
async fn a_relay_that_puts_a_mail_off_takes_it_later() {
    let relay =
        FakeRelay::with_behaviour(RelayBehaviour { defer: 2, ..RelayBehaviour::default() }).await;
    let smtp = smtp(settings(&relay));

    let mut all = Vec::new();
    for _ in 0..3 {
        all.push(smtp.send(&mail("ada@example.org")).await);
    }

    let why = "the relay does not take mail to this address: transient error (451): 4.7.1 … try \
               again later";
    let later = RelayOutcome::TryLater(why.to_owned());
    assert_eq!(all, [later.clone(), later, RelayOutcome::Accepted]);
    assert_eq!(relay.stop().await.len(), 1);
}

#[tokio::test]
async fn what_a_relay_states_of_an_address_is_stored_without_it() {
    let relay =
        FakeRelay::with_behaviour(RelayBehaviour { refuse: true, ..RelayBehaviour::default() })
            .await;

    let sent = send(settings(&relay)).await;

    let why = "the relay does not take mail to this address: permanent error (550): 5.1.1 … no \
               such user, see …";
    assert_eq!(sent, RelayOutcome::Refused(why.to_owned()));
}

#[tokio::test]
async fn a_relay_that_takes_nothing_from_us_refuses_no_mail() {
    let relay = FakeRelay::with_behaviour(RelayBehaviour {
        refuse_sender: true,
        ..RelayBehaviour::default()
    })
    .await;

    let why = away(send(settings(&relay)).await);

    assert!(
        why.starts_with("the relay does not take mail from us: permanent error (550)"),
        "{why}"
    );
}

#[tokio::test]
async fn a_relay_that_hangs_up_half_way_gets_the_mail_again() {
    let relay =
        FakeRelay::with_behaviour(RelayBehaviour { drop: 1, ..RelayBehaviour::default() }).await;
    let smtp = smtp(settings(&relay));

    let first = smtp.send(&mail("ada@example.org")).await;
    let second = smtp.send(&mail("ada@example.org")).await;

    assert!(matches!(first, RelayOutcome::TryLater(_)), "{first:?}");
    assert_eq!(second, RelayOutcome::Accepted);
    assert_eq!(relay.stop().await.len(), 1);
}

#[tokio::test]
async fn a_relay_that_never_answers_is_not_waited_for() {
    let relay =
        FakeRelay::with_behaviour(RelayBehaviour { silent: true, ..RelayBehaviour::default() })
            .await;
    let hasty = MailSettings { timeout: Duration::from_millis(200), ..settings(&relay) };

    let why = away(send(hasty).await);

    assert_eq!(why, "the relay did not answer within 200 ms");
}

#[tokio::test]
async fn a_relay_that_is_not_there_is_away() {
    let relay = FakeRelay::start().await;
    let gone = settings(&relay);
    relay.stop().await;

    let why = away(send(gone).await);

    assert!(why.starts_with("the relay does not let us in: "), "{why}");
}

#[tokio::test]
async fn without_a_relay_nothing_is_sent() {
    let smtp = SmtpRelay::new(LiveSetting::new(None), "pia.example");

    let why = away(smtp.send(&mail("ada@example.org")).await);

    assert_eq!(why, "no relay is set");
}

#[tokio::test]
async fn another_relay_serves_as_soon_as_it_is_set() {
    let [first, second] = [FakeRelay::start().await, FakeRelay::start().await];
    let live = LiveSetting::new(Some(settings(&first)));
    let smtp = SmtpRelay::new(live.clone(), "pia.example");

    smtp.send(&mail("ada@example.org")).await;
    live.set(Some(settings(&second)));
    smtp.send(&mail("bob@example.org")).await;

    assert_eq!(first.stop().await[0].to, ["ada@example.org"]);
    assert_eq!(second.stop().await[0].to, ["bob@example.org"]);
}

#[tokio::test]
async fn a_relay_that_requests_it_is_reported_who_we_are() {
    let asking = RelayBehaviour { user: Some(("pia", "right")), ..RelayBehaviour::default() };
    let relay = FakeRelay::with_behaviour(asking).await;
    let with =
        |password| MailSettings { credentials: Some(credentials(password)), ..settings(&relay) };

    let [unnamed, wrong, right] =
        [send(settings(&relay)).await, send(with("wr0ng")).await, send(with("right")).await];

    let (unnamed, wrong) = (away(unnamed), away(wrong));
    assert!(unnamed.contains("(530)"), "{unnamed}");
    assert!(wrong.contains("(535)") && !wrong.contains("wr0ng"), "{wrong}");
    assert_eq!(right, RelayOutcome::Accepted);
    assert_eq!(relay.next_mail().await.user.as_deref(), Some("pia"));
}

#[tokio::test]
async fn a_relay_is_greeted_with_the_name_under_which_the_server_is_known() {
    for (host, greeted) in [
        ("pia.example", "pia.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("192.0.2.1", "[192.0.2.1]"),
        ("[2001:db8::1]", "[IPv6:2001:db8::1]"),
    ] {
        let relay = FakeRelay::start().await;
        let smtp = SmtpRelay::new(LiveSetting::new(Some(settings(&relay))), host);

        assert_eq!(smtp.send(&mail("ada@example.org")).await, RelayOutcome::Accepted);
        assert_eq!(relay.next_mail().await.greeting, greeted);
    }
}
