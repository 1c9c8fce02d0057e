//! Relays that nobody should read along with.

use pia_mail::{MailSettings, Security};
use pia_outbox::RelayOutcome;
use pia_testkit::relay::{FakeRelay, RelayBehaviour, RelayTls};

use crate::scene::{away, credentials, send, settings};

async fn speaking(tls: RelayTls) -> FakeRelay {
    FakeRelay::with_behaviour(RelayBehaviour {
        tls,
        user: Some(("pia", "right")),
        ..RelayBehaviour::default()
    })
    .await
}

fn trusting(relay: &FakeRelay, security: Security) -> MailSettings {
    MailSettings {
        security,
        credentials: Some(credentials("right")),
        ca: Some(relay.certificate.clone()),
        ..settings(relay)
    }
}

#[tokio::test]
async fn name_and_mail_are_sent_once_the_connection_is_encrypted() {
    for (tls, security) in
        [(RelayTls::StartTls, Security::StartTls), (RelayTls::Wrapped, Security::Tls)]
    {
        let relay = speaking(tls).await;

        let sent = send(trusting(&relay, security)).await;

        assert_eq!(sent, RelayOutcome::Accepted, "{tls:?}");
        let got = relay.next_mail().await;
        assert_eq!((got.encrypted, got.user.as_deref()), (true, Some("pia")), "{tls:?}");
    }
}

#[tokio::test]
async fn a_relay_that_cannot_encrypt_gets_nothing() {
    let relay = speaking(RelayTls::Never).await;

    let why = away(send(trusting(&relay, Security::StartTls)).await);

    assert!(why.contains("STARTTLS is not supported"), "{why}");
    assert!(relay.stop().await.is_empty());
}

#[tokio::test]
async fn a_relay_for_which_nobody_vouches_gets_nothing() {
    for (tls, security) in
        [(RelayTls::StartTls, Security::StartTls), (RelayTls::Wrapped, Security::Tls)]
    {
        let relay = speaking(tls).await;
        let unknown = MailSettings { ca: None, ..trusting(&relay, security) };
        let other_name =
            MailSettings { host: "127.0.0.1".parse().unwrap(), ..trusting(&relay, security) };

        let [unknown, other_name] = [send(unknown).await, send(other_name).await].map(away);

        assert!(unknown.contains("UnknownIssuer"), "{unknown}");
        assert!(other_name.contains("not valid for name"), "{other_name}");
        assert!(relay.stop().await.is_empty());
    }
}

#[tokio::test]
async fn certificates_that_cannot_be_read_are_reported() {
    let relay = speaking(RelayTls::StartTls).await;
    let missing = MailSettings { ca: Some("/nowhere/ca.pem".into()), ..settings(&relay) };
    let missing = MailSettings { security: Security::StartTls, ..missing };

    let why = away(send(missing).await);

    assert!(why.starts_with("certificates cannot be read: "), "{why}");
}
