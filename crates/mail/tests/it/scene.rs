//! Fixtures: an email, and a relay to deliver it.

use std::time::Duration;

use pia_kernel::{LiveSetting, MailId, Secret, Timestamp};
use pia_mail::{MailSettings, Security, SmtpRelay};
use pia_outbox::{EmailContent, Relay as _, RelayOutcome, RenderedMail};
use pia_testkit::relay::FakeRelay;

pub(crate) fn settings(relay: &FakeRelay) -> MailSettings {
    MailSettings {
        host: relay.host().parse().unwrap(),
        port: relay.port,
        security: Security::None,
        credentials: None,
        from: "pia@pia.example".parse().unwrap(),
        from_name: "Pia".to_owned(),
        timeout: Duration::from_secs(20),
        ca: None,
    }
}

pub(crate) fn credentials(password: &str) -> (String, Secret<String>) {
    ("pia".to_owned(), Secret::new(password.to_owned()))
}

pub(crate) fn smtp_relay(settings: MailSettings) -> SmtpRelay {
    SmtpRelay::new(LiveSetting::new(Some(settings)), "pia.example")
}

pub(crate) fn mail(to: &str) -> RenderedMail {
    let rendition = EmailContent {
        subject: "Prüfung – ‘тест’".to_owned(),
        text: "Grüße,\n.\nhttps://pia.example/x?a=1&b=2\n".to_owned(),
        html: "<p>Grüße</p>".to_owned(),
    };
    let at = Timestamp::from_micros(1_795_273_445_000_000);
    RenderedMail { id: MailId::generate(), to: to.to_owned(), at, rendition }
}

/// Sends one email.
pub(crate) async fn send(settings: MailSettings) -> RelayOutcome {
    smtp_relay(settings).send(&mail("ada@example.org")).await
}

/// Returns the reason why the relay is unusable; panics on any other outcome.
pub(crate) fn away(outcome: RelayOutcome) -> String {
    match outcome {
        RelayOutcome::Away(reason) => reason,
        _ => panic!("{outcome:?}"),
    }
}
