//! Tests of the delivered emails.

use pia_mail::MailSettings;
use pia_outbox::{Relay as _, RelayOutcome, RenderedMail};
use pia_testkit::relay::FakeRelay;

use crate::scene::{mail, send, settings, smtp_relay};

#[tokio::test]
async fn an_email_arrives_as_written() {
    let relay = FakeRelay::start().await;
    let email = mail("ada@example.org");

    let outcome = smtp_relay(settings(&relay)).send(&email).await;

    let received = relay.next_mail().await;
    assert_eq!(outcome, RelayOutcome::Accepted);
    assert_eq!(&*received.from, "pia@pia.example");
    assert_eq!(received.to, ["ada@example.org"]);
    assert_eq!(received.subject(), email.rendition.subject);
    assert_eq!(received.text.replace("\r\n", "\n"), email.rendition.text);
    assert_eq!(received.html.trim_end(), email.rendition.html);
    assert_eq!(received.link(), "https://pia.example/x?a=1&b=2");
    assert_eq!(received.header("from"), Some("Pia <pia@pia.example>"));
    assert_eq!(received.header("to"), Some("ada@example.org"));
    assert_eq!(received.header("auto-submitted"), Some("auto-generated"));
    assert_eq!(received.header("message-id"), Some(&*format!("<{}@pia.example>", email.id)));
    assert!(received.header("date").unwrap().starts_with("Sat, 21 Nov 2026 15:04:05"));
    assert!(received.raw.is_ascii(), "any relay can pass it on");
}

#[tokio::test]
async fn a_repeated_email_is_identical() {
    let relay = FakeRelay::start().await;
    let smtp = smtp_relay(settings(&relay));
    let email = mail("ada@example.org");

    smtp.send(&email).await;
    smtp.send(&email).await;

    let [first, second] = [relay.next_mail().await, relay.next_mail().await];
    for header in ["message-id", "date", "subject"] {
        assert_eq!(first.header(header), second.header(header));
    }
}

#[tokio::test]
async fn the_content_of_an_email_cannot_inject_headers() {
    let relay = FakeRelay::start().await;
    let mut email = mail("ada@example.org");
    email.rendition.subject = "Hello\r\nBcc: eve@example.org\r\n\r\nbody".to_owned();
    let injection =
        MailSettings { from_name: "Pia\r\nBcc: eve@example.org".to_owned(), ..settings(&relay) };

    let outcome = smtp_relay(injection).send(&email).await;

    let received = relay.next_mail().await;
    assert_eq!(outcome, RelayOutcome::Accepted);
    assert_eq!(received.header("bcc"), None);
    assert_eq!(received.to, ["ada@example.org"]);
    assert_eq!(received.text.replace("\r\n", "\n"), email.rendition.text);
}

#[tokio::test]
async fn invalid_addresses_are_refused() {
    let relay = FakeRelay::start().await;
    let smtp = smtp_relay(settings(&relay));

    for to in ["", "ada", "ada@example.org>\r\nRCPT TO:<eve@example.org", "a@b, c@d", "ada@"] {
        let invalid = RenderedMail { to: to.to_owned(), ..mail("x") };
        let reason = "the email address is invalid".to_owned();
        assert_eq!(smtp.send(&invalid).await, RelayOutcome::Refused(reason), "{to}");
    }
    assert!(relay.stop().await.is_empty());
}

#[tokio::test]
async fn a_relay_without_smtputf8_gets_ascii_addresses_only() {
    let relay = FakeRelay::start().await;

    let outcome = smtp_relay(settings(&relay)).send(&mail("jürgen@example.org")).await;

    let reason = "the relay takes only addresses of plain letters".to_owned();
    assert_eq!(outcome, RelayOutcome::Refused(reason));
    assert_eq!(send(settings(&relay)).await, RelayOutcome::Accepted);
    assert_eq!(relay.stop().await.len(), 1);
}

#[tokio::test]
async fn a_domain_in_another_script_is_sent_in_ascii() {
    let relay = FakeRelay::start().await;
    let from = "pia@bücher.example".parse().unwrap();

    let smtp = smtp_relay(MailSettings { from, ..settings(&relay) });
    let outcome = smtp.send(&mail("karl@müller.example")).await;

    assert_eq!(outcome, RelayOutcome::Accepted);
    let received = relay.next_mail().await;
    assert_eq!(&*received.from, "pia@xn--bcher-kva.example");
    assert_eq!(received.to, ["karl@xn--mller-kva.example"]);
    assert_eq!(received.header("to"), Some("karl@xn--mller-kva.example"));
    assert!(received.raw.is_ascii());
}
