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

fn letter(hours: Option<&str>) -> OutgoingEmail {
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

fn mail(letter: OutgoingEmail) -> ClaimResult {
    ClaimResult::Mail(Box::new(ClaimedEmail { claim: claim(START), email: letter }))
}

/// A postman at this time who finds this in the outbox.
struct Scene {
    now: Timestamp,
    outbox: MockOutbox,
    letters: MockEmailRenderer,
    relay: MockRelay,
}

impl Scene {
    fn with(claimed: ClaimResult) -> Self {
        let mut outbox = MockOutbox::new();
        outbox.expect_claim().once().return_once(move |_, _| Ok(Some(claimed)));
        let mut letters = MockEmailRenderer::new();
        letters.expect_render().returning(|it| {
            Ok(EmailContent { subject: it.name.clone(), text: "t".into(), html: "h".into() })
        });
        Self { now: START, outbox, letters, relay: MockRelay::new() }
    }

    fn answering(mut self, sent: RelayOutcome) -> Self {
        self.relay.expect_send().once().return_once(move |_| sent);
        self
    }

    fn at(self, now: Timestamp) -> Self {
        Self { now, ..self }
    }

    fn unreadable(mut self, err: RenderError) -> Self {
        self.letters = MockEmailRenderer::new();
        self.letters.expect_render().once().return_once(move |_| Err(err));
        self
    }

    fn abandoned_for(mut self, why: &'static str) -> Self {
        let abandoned = self.outbox.expect_give_up().once();
        abandoned.withf(move |_, _, it| it == why).returning(|_, _, _| Ok(()));
        self
    }

    fn postponed_for(mut self, why: &'static str) -> Self {
        let retried = self.outbox.expect_retry().once();
        retried.withf(move |_, due, it| *due > START && it == why).returning(|_, _, _| Ok(()));
        self
    }

    async fn deliver(self) -> Delivery {
        let ports = OutboxSenderPorts {
            outbox: Arc::new(self.outbox),
            letters: Arc::new(self.letters),
            relay: Arc::new(self.relay),
        };
        let clock = Arc::new(FixedClock(self.now));
        let postman = OutboxSender::new(ports, OutboxSenderSettings::default(), clock);
        postman.deliver_next().await.unwrap()
    }
}

#[tokio::test]
async fn what_the_relay_took_is_forgotten() {
    let mut scene = Scene::with(mail(letter(None))).answering(RelayOutcome::Accepted);
    scene.outbox.expect_sent().withf(|it| *it == claim(START)).once().returning(|_| Ok(()));

    assert_eq!(scene.deliver().await, Delivery::Sent);
}

#[tokio::test]
async fn a_mail_is_ours_for_longer_than_handing_it_over_takes() {
    let mut outbox = MockOutbox::new();
    let claimed = outbox.expect_claim().once();
    claimed.withf(|now, until| *until == *now + Duration::from_mins(5)).returning(|_, _| Ok(None));

    let (letters, relay) = (MockEmailRenderer::new(), MockRelay::new());
    let scene = Scene { now: START, outbox, letters, relay };

    assert_eq!(scene.deliver().await, Delivery::Nothing);
}

#[tokio::test]
async fn what_the_relay_refuses_is_abandoned() {
    let scene = Scene::with(mail(letter(None))).answering(RelayOutcome::Refused("550".into()));

    assert_eq!(scene.abandoned_for("550").deliver().await, Delivery::Abandoned);
}

#[tokio::test]
async fn what_the_relay_may_want_later_waits() {
    let scene = Scene::with(mail(letter(None))).answering(RelayOutcome::TryLater("451".into()));

    assert_eq!(scene.postponed_for("451").deliver().await, Delivery::Postponed);
}

#[tokio::test]
async fn a_relay_that_is_away_need_not_be_tried_with_other_mails() {
    let scene = Scene::with(mail(letter(None))).answering(RelayOutcome::Away("refused".into()));

    assert_eq!(scene.postponed_for("refused").deliver().await, Delivery::RelayAway);
}

#[tokio::test]
async fn after_three_days_a_mail_is_abandoned() {
    let late = START + Duration::from_hours(72);
    let scene = Scene::with(mail(letter(None))).answering(RelayOutcome::TryLater("451".into()));

    assert_eq!(scene.at(late).abandoned_for("451").deliver().await, Delivery::Abandoned);
}

#[tokio::test]
async fn a_link_is_not_sent_once_it_has_ended() {
    let late = START + Duration::from_hours(1);
    let scene = Scene::with(mail(letter(Some("1")))).at(late);

    let delivery = scene.abandoned_for("the time for what it asks has passed").deliver().await;

    assert_eq!(delivery, Delivery::Abandoned);
}

#[tokio::test]
async fn a_letter_that_only_another_version_knows_waits_for_it() {
    let scene = Scene::with(mail(letter(None))).unreadable(RenderError::Unknown);

    let delivery = scene.postponed_for("no letter has this name").deliver().await;

    assert_eq!(delivery, Delivery::Postponed);
}

#[tokio::test]
async fn a_letter_that_makes_no_sense_is_abandoned() {
    let scene = Scene::with(mail(letter(None))).unreadable(RenderError::Field("link"));
    let why = "the letter's field `link` is missing or has another form";

    assert_eq!(scene.abandoned_for(why).deliver().await, Delivery::Abandoned);
}

#[tokio::test]
async fn what_only_another_key_opens_waits_until_patience_ends() {
    let why = "it is sealed under another key";
    let late = START + Duration::from_hours(72);

    let first = Scene::with(ClaimResult::Locked(claim(START))).postponed_for(why).deliver().await;
    let last = Scene::with(ClaimResult::Locked(claim(START))).at(late).abandoned_for(why);

    assert_eq!((first, last.deliver().await), (Delivery::Postponed, Delivery::Abandoned));
}

#[tokio::test]
async fn what_nobody_can_open_is_abandoned() {
    let scene = Scene::with(ClaimResult::Ruined(claim(START)));

    assert_eq!(scene.abandoned_for("it cannot be opened").deliver().await, Delivery::Abandoned);
}

#[tokio::test]
async fn what_was_done_is_counted() {
    let mut outbox = MockOutbox::new();
    let mut all =
        vec![Some(ClaimResult::Ruined(claim(START))), Some(ClaimResult::Locked(claim(START)))];
    outbox.expect_claim().times(3).returning(move |_, _| Ok(all.pop().flatten()));
    outbox.expect_retry().returning(|_, _, _| Ok(()));
    outbox.expect_give_up().returning(|_, _, _| Ok(()));
    outbox.expect_waiting().once().returning(|| Ok(1));
    let mut relay = MockRelay::new();
    relay.expect_rest().once().return_const(());
    let ports = OutboxSenderPorts {
        outbox: Arc::new(outbox),
        letters: Arc::new(MockEmailRenderer::new()),
        relay: Arc::new(relay),
    };
    let clock = Arc::new(FixedClock(START));
    let postman = OutboxSender::new(ports, OutboxSenderSettings::default(), clock);

    while postman.deliver_next().await.unwrap() != Delivery::Nothing {}
    postman.rest().await.unwrap();

    let tally = postman.tally();
    assert_eq!((tally.all_sent(), tally.all_postponed(), tally.all_abandoned()), (0, 1, 1));
    assert_eq!(tally.waiting(), 1);
}
