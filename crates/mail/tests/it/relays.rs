//! Tests of working and failing relays.

use std::time::Duration;

use pia_kernel::LiveSetting;
use pia_mail::{MailSettings, SmtpRelay};
use pia_outbox::{Relay as _, RelayOutcome};
use pia_testkit::relay::{FakeRelay, RelayBehaviour};

use crate::scene::{away, credentials, mail, send, settings, smtp_relay};

#[tokio::test]
async fn emails_share_one_connection_until_the_queue_is_empty() {
    let relay = FakeRelay::start().await;
    let smtp = smtp_relay(settings(&relay));

    for _ in 0..5 {
        smtp.send(&mail("ada@example.org")).await;
    }
    smtp.rest().await;
    smtp.send(&mail("ada@example.org")).await;

    let connections: Vec<_> = relay.stop().await.iter().map(|it| it.connection).collect();
    assert_eq!(connections, [1, 1, 1, 1, 1, 2]);
}

#[tokio::test]
async fn a_connection_that_closed_while_idle_is_replaced() {
    let relay = FakeRelay::start().await;
    let port = relay.port;
    let smtp = smtp_relay(settings(&relay));
    smtp.send(&mail("ada@example.org")).await;
    relay.stop().await;
    let new_relay =
        FakeRelay::with_behaviour(RelayBehaviour { port, ..RelayBehaviour::default() }).await;

    let outcome = smtp.send(&mail("ada@example.org")).await;

    assert_eq!(outcome, RelayOutcome::Accepted);
    assert_eq!(new_relay.stop().await.len(), 1);
}

#[tokio::test]
async fn a_deferred_email_is_accepted_later() {
    let relay =
        FakeRelay::with_behaviour(RelayBehaviour { defer: 2, ..RelayBehaviour::default() }).await;
    let smtp = smtp_relay(settings(&relay));

    let mut outcomes = Vec::new();
    for _ in 0..3 {
        outcomes.push(smtp.send(&mail("ada@example.org")).await);
    }

    let reason = "the relay does not take mail to this address: transient error (451): 4.7.1 … \
        try again later";
    let later = RelayOutcome::TryLater(reason.to_owned());
    assert_eq!(outcomes, [later.clone(), later, RelayOutcome::Accepted]);
    assert_eq!(relay.stop().await.len(), 1);
}

#[tokio::test]
async fn a_reply_is_recorded_without_addresses() {
    let relay =
        FakeRelay::with_behaviour(RelayBehaviour { refuse: true, ..RelayBehaviour::default() })
            .await;

    let outcome = send(settings(&relay)).await;

    let reason = "the relay does not take mail to this address: permanent error (550): 5.1.1 … \
        no such user, see …";
    assert_eq!(outcome, RelayOutcome::Refused(reason.to_owned()));
}

#[tokio::test]
async fn a_rejected_sender_means_that_the_relay_is_away() {
    let relay = FakeRelay::with_behaviour(RelayBehaviour {
        refuse_sender: true,
        ..RelayBehaviour::default()
    })
    .await;

    let reason = away(send(settings(&relay)).await);

    assert!(
        reason.starts_with("the relay does not take mail from us: permanent error (550)"),
        "{reason}"
    );
}

#[tokio::test]
async fn a_dropped_connection_leads_to_a_retry() {
    let relay =
        FakeRelay::with_behaviour(RelayBehaviour { drop: 1, ..RelayBehaviour::default() }).await;
    let smtp = smtp_relay(settings(&relay));

    let dropped_outcome = smtp.send(&mail("ada@example.org")).await;
    let retry_outcome = smtp.send(&mail("ada@example.org")).await;

    assert!(matches!(dropped_outcome, RelayOutcome::TryLater(_)), "{dropped_outcome:?}");
    assert_eq!(retry_outcome, RelayOutcome::Accepted);
    assert_eq!(relay.stop().await.len(), 1);
}

#[tokio::test]
async fn a_silent_relay_times_out() {
    let relay =
        FakeRelay::with_behaviour(RelayBehaviour { silent: true, ..RelayBehaviour::default() })
            .await;
    let hasty = MailSettings { timeout: Duration::from_millis(200), ..settings(&relay) };

    let reason = away(send(hasty).await);

    assert_eq!(reason, "the relay did not answer within 200 ms");
}

#[tokio::test]
async fn an_unreachable_relay_is_away() {
    let relay = FakeRelay::start().await;
    let gone = settings(&relay);
    relay.stop().await;

    let reason = away(send(gone).await);

    assert_eq!(reason, "the mail server refuses connections");
}

#[tokio::test]
async fn without_a_relay_nothing_is_sent() {
    let smtp = SmtpRelay::new(LiveSetting::new(None), "pia.example");

    let reason = away(smtp.send(&mail("ada@example.org")).await);

    assert_eq!(reason, "no relay is set");
}

#[tokio::test]
async fn a_changed_relay_is_used_at_once() {
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
async fn credentials_are_sent_if_the_relay_requires_them() {
    let requires_password =
        RelayBehaviour { user: Some(("pia", "right")), ..RelayBehaviour::default() };
    let relay = FakeRelay::with_behaviour(requires_password).await;
    let settings_with =
        |password| MailSettings { credentials: Some(credentials(password)), ..settings(&relay) };

    let missing_reason = away(send(settings(&relay)).await);
    let wrong_reason = away(send(settings_with("wr0ng")).await);
    let outcome = send(settings_with("right")).await;

    assert!(missing_reason.contains("(530)"), "{missing_reason}");
    assert!(wrong_reason.contains("(535)"), "{wrong_reason}");
    assert!(!wrong_reason.contains("wr0ng"), "{wrong_reason}");
    assert_eq!(outcome, RelayOutcome::Accepted);
    assert_eq!(relay.next_mail().await.user.as_deref(), Some("pia"));
}

#[tokio::test]
async fn a_relay_is_greeted_with_the_public_host_name() {
    for (host, greeting) in [
        ("pia.example", "pia.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("192.0.2.1", "[192.0.2.1]"),
        ("[2001:db8::1]", "[IPv6:2001:db8::1]"),
    ] {
        let relay = FakeRelay::start().await;
        let smtp = SmtpRelay::new(LiveSetting::new(Some(settings(&relay))), host);

        assert_eq!(smtp.send(&mail("ada@example.org")).await, RelayOutcome::Accepted);
        assert_eq!(relay.next_mail().await.greeting, greeting);
    }
}
