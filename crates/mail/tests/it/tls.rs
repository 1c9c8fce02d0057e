//! Tests of encrypted connections to relays.

use pia_mail::{MailSettings, Security};
use pia_outbox::RelayOutcome;
use pia_testkit::relay::{FakeRelay, RelayBehaviour, RelayTls};

use crate::scene::{away, credentials, send, settings};

async fn relay_with(tls: RelayTls) -> FakeRelay {
    FakeRelay::with_behaviour(RelayBehaviour {
        tls,
        user: Some(("pia", "right")),
        ..RelayBehaviour::default()
    })
    .await
}

fn settings_trusting(relay: &FakeRelay, security: Security) -> MailSettings {
    MailSettings {
        security,
        credentials: Some(credentials("right")),
        ca: Some(relay.certificate.clone()),
        ..settings(relay)
    }
}

#[tokio::test]
async fn credentials_and_emails_are_sent_over_encrypted_connections() {
    for (tls, security) in
        [(RelayTls::StartTls, Security::StartTls), (RelayTls::Wrapped, Security::Tls)]
    {
        let relay = relay_with(tls).await;

        let outcome = send(settings_trusting(&relay, security)).await;

        assert_eq!(outcome, RelayOutcome::Accepted, "{tls:?}");
        let received = relay.next_mail().await;
        assert!(received.encrypted, "{tls:?}");
        assert_eq!(received.user.as_deref(), Some("pia"), "{tls:?}");
    }
}

#[tokio::test]
async fn a_relay_that_cannot_encrypt_gets_nothing() {
    let relay = relay_with(RelayTls::Never).await;

    let reason = away(send(settings_trusting(&relay, Security::StartTls)).await);

    assert!(reason.contains("STARTTLS is not supported"), "{reason}");
    assert!(relay.stop().await.is_empty());
}

#[tokio::test]
async fn a_relay_with_an_untrusted_certificate_gets_nothing() {
    for (tls, security) in
        [(RelayTls::StartTls, Security::StartTls), (RelayTls::Wrapped, Security::Tls)]
    {
        let relay = relay_with(tls).await;
        let unknown_issuer = MailSettings { ca: None, ..settings_trusting(&relay, security) };
        let other_name = MailSettings {
            host: "127.0.0.1".parse().unwrap(),
            ..settings_trusting(&relay, security)
        };

        let issuer_reason = away(send(unknown_issuer).await);
        let name_reason = away(send(other_name).await);

        assert!(issuer_reason.contains("UnknownIssuer"), "{issuer_reason}");
        assert!(issuer_reason.starts_with("the relay does not let us in: "), "{issuer_reason}");
        assert!(name_reason.contains("not valid for name"), "{name_reason}");
        assert!(relay.stop().await.is_empty());
    }
}

#[tokio::test]
async fn unreadable_certificates_are_reported() {
    let relay = relay_with(RelayTls::StartTls).await;
    let missing = MailSettings {
        ca: Some("/nowhere/ca.pem".into()),
        security: Security::StartTls,
        ..settings(&relay)
    };

    let reason = away(send(missing).await);

    assert!(reason.starts_with("certificates cannot be read: "), "{reason}");
}
