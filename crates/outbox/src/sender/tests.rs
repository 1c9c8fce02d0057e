//! Tests for the delivery of emails.

use std::collections::BTreeMap;

use pia_kernel::{MailId, Timestamp};
use pia_testkit::FixedClock;

use super::*;
use crate::ports::{MockEmailRenderer, MockOutbox, MockRelay};
use crate::{ClaimedEmail, EmailContent};

const START: Timestamp = Timestamp::UNIX_EPOCH;

fn claim(queued_at: Timestamp) -> ClaimToken {
    ClaimToken { mail: MailId(uuid()), tries: 1, queued_at }
}

fn uuid() -> uuid::Uuid {
    uuid::Uuid::from_u128(1 << 80)
}

fn email(hours: Option<&str>) -> OutgoingEmail {
    let fields = hours.map(|it| ("hours".to_owned(), it.to_owned()));
    OutgoingEmail {
        to: "ada@example.org".to_owned(),
        name: "password-reset".to_owned(),
        fields: fields.into_iter().collect::<BTreeMap<_, _>>(),
        language: None,
        at: START,
        address: None,
        agent: None,
    }
}

fn mail(email: OutgoingEmail) -> ClaimResult {
    ClaimResult::Mail(Box::new(ClaimedEmail { claim: claim(START), email }))
}

/// Sender at a time, with the result of its next claim.
struct Scene {
    now: Timestamp,
    outbox: MockOutbox,
    renderer: MockEmailRenderer,
    relay: MockRelay,
}

impl Scene {
    fn with(result: ClaimResult) -> Self {
        let mut outbox = MockOutbox::new();
        outbox.expect_claim().once().return_once(move |_, _| Ok(Some(result)));
        let mut renderer = MockEmailRenderer::new();
        renderer.expect_render().returning(|it| {
            Ok(EmailContent { subject: it.name.clone(), text: "t".into(), html: "h".into() })
        });
        Self { now: START, outbox, renderer, relay: MockRelay::new() }
    }

    fn answering(mut self, outcome: RelayOutcome) -> Self {
        self.relay.expect_send().once().return_once(move |_| outcome);
        self
    }

    fn at(self, now: Timestamp) -> Self {
        Self { now, ..self }
    }

    fn unreadable(mut self, err: RenderError) -> Self {
        self.renderer = MockEmailRenderer::new();
        self.renderer.expect_render().once().return_once(move |_| Err(err));
        self
    }

    fn abandoned_because(mut self, reason: &'static str) -> Self {
        self.outbox
            .expect_give_up()
            .once()
            .withf(move |_, _, it| it == reason)
            .returning(|_, _, _| Ok(()));
        self
    }

    fn postponed_because(mut self, reason: &'static str) -> Self {
        self.outbox
            .expect_retry()
            .once()
            .withf(move |_, due, it| *due > START && it == reason)
            .returning(|_, _, _| Ok(()));
        self
    }

    async fn deliver(self) -> DeliveryOutcome {
        let ports = OutboxSenderPorts {
            outbox: Arc::new(self.outbox),
            renderer: Arc::new(self.renderer),
            relay: Arc::new(self.relay),
        };
        let clock = Arc::new(FixedClock(self.now));
        let sender = OutboxSender::new(ports, OutboxSenderSettings::default(), clock);
        sender.deliver_next().await.unwrap()
    }
}

#[tokio::test]
async fn an_accepted_email_is_deleted() {
    let mut scene = Scene::with(mail(email(None))).answering(RelayOutcome::Accepted);
    scene.outbox.expect_sent().withf(|it| *it == claim(START)).once().returning(|_| Ok(()));

    assert_eq!(scene.deliver().await, DeliveryOutcome::Sent);
}

#[tokio::test]
async fn a_claim_lasts_longer_than_a_delivery() {
    let mut outbox = MockOutbox::new();
    outbox
        .expect_claim()
        .once()
        .withf(|now, until| *until == *now + Duration::from_mins(5))
        .returning(|_, _| Ok(None));
    let scene =
        Scene { now: START, outbox, renderer: MockEmailRenderer::new(), relay: MockRelay::new() };

    assert_eq!(scene.deliver().await, DeliveryOutcome::Nothing);
}

#[tokio::test]
async fn a_refused_email_is_abandoned() {
    let scene = Scene::with(mail(email(None))).answering(RelayOutcome::Refused("550".into()));

    assert_eq!(scene.abandoned_because("550").deliver().await, DeliveryOutcome::Abandoned);
}

#[tokio::test]
async fn a_temporarily_rejected_email_is_retried() {
    let scene = Scene::with(mail(email(None))).answering(RelayOutcome::TryLater("451".into()));

    assert_eq!(scene.postponed_because("451").deliver().await, DeliveryOutcome::Postponed);
}

#[tokio::test]
async fn an_unreachable_relay_is_reported_as_away() {
    let scene = Scene::with(mail(email(None))).answering(RelayOutcome::Away("refused".into()));

    assert_eq!(scene.postponed_because("refused").deliver().await, DeliveryOutcome::RelayAway);
}

#[tokio::test]
async fn an_email_is_abandoned_after_three_days() {
    let late = START + Duration::from_hours(72);
    let scene = Scene::with(mail(email(None))).answering(RelayOutcome::TryLater("451".into()));

    assert_eq!(scene.at(late).abandoned_because("451").deliver().await, DeliveryOutcome::Abandoned);
}

#[tokio::test]
async fn an_expired_link_is_not_sent() {
    let late = START + Duration::from_hours(1);
    let scene = Scene::with(mail(email(Some("1")))).at(late);

    let delivery = scene.abandoned_because("the time for what it asks has passed").deliver().await;

    assert_eq!(delivery, DeliveryOutcome::Abandoned);
}

#[tokio::test]
async fn an_email_of_an_unknown_template_waits_for_a_newer_version() {
    let scene = Scene::with(mail(email(None))).unreadable(RenderError::Unknown);

    let delivery = scene.postponed_because("no email template has this name").deliver().await;

    assert_eq!(delivery, DeliveryOutcome::Postponed);
}

#[tokio::test]
async fn an_invalid_email_is_abandoned() {
    let scene = Scene::with(mail(email(None))).unreadable(RenderError::Field("link"));
    let reason = "field `link` of the email is missing or has another type";

    assert_eq!(scene.abandoned_because(reason).deliver().await, DeliveryOutcome::Abandoned);
}

#[tokio::test]
async fn an_email_sealed_under_another_key_waits_for_three_days() {
    let reason = "it is sealed under another key";
    let late = START + Duration::from_hours(72);

    let early_delivery =
        Scene::with(ClaimResult::Locked(claim(START))).postponed_because(reason).deliver().await;
    let late_delivery = Scene::with(ClaimResult::Locked(claim(START)))
        .at(late)
        .abandoned_because(reason)
        .deliver()
        .await;

    assert_eq!(early_delivery, DeliveryOutcome::Postponed);
    assert_eq!(late_delivery, DeliveryOutcome::Abandoned);
}

#[tokio::test]
async fn an_unreadable_email_is_abandoned() {
    let scene = Scene::with(ClaimResult::Ruined(claim(START)));

    assert_eq!(
        scene.abandoned_because("it cannot be opened").deliver().await,
        DeliveryOutcome::Abandoned
    );
}

#[tokio::test]
async fn deliveries_are_counted() {
    let mut outbox = MockOutbox::new();
    let mut results =
        vec![Some(ClaimResult::Ruined(claim(START))), Some(ClaimResult::Locked(claim(START)))];
    outbox.expect_claim().times(3).returning(move |_, _| Ok(results.pop().flatten()));
    outbox.expect_retry().returning(|_, _, _| Ok(()));
    outbox.expect_give_up().returning(|_, _, _| Ok(()));
    outbox.expect_waiting().once().returning(|| Ok(1));
    let mut relay = MockRelay::new();
    relay.expect_rest().once().return_const(());
    let ports = OutboxSenderPorts {
        outbox: Arc::new(outbox),
        renderer: Arc::new(MockEmailRenderer::new()),
        relay: Arc::new(relay),
    };
    let clock = Arc::new(FixedClock(START));
    let sender = OutboxSender::new(ports, OutboxSenderSettings::default(), clock);

    for outcome in
        [DeliveryOutcome::Postponed, DeliveryOutcome::Abandoned, DeliveryOutcome::Nothing]
    {
        assert_eq!(sender.deliver_next().await.unwrap(), outcome);
    }
    sender.rest().await.unwrap();

    let tally = sender.tally();
    assert_eq!(tally.all_sent(), 0);
    assert_eq!(tally.all_postponed(), 1);
    assert_eq!(tally.all_abandoned(), 1);
    assert_eq!(tally.waiting(), 1);
}
