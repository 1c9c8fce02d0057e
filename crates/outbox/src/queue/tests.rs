//! Tests of the administrators' view of the outbox.

use std::sync::Mutex;

use async_trait::async_trait;
use pia_kernel::Recipient;
use pia_testkit::FixedClock;

use super::*;
use crate::ports::{MockEmailRenderer, MockMailQueueStore, MockOutbox, MockRelay};
use crate::{OutboxSenderPorts, OutboxSenderSettings};

const START: Timestamp = Timestamp::UNIX_EPOCH;

#[derive(Default)]
struct RecordedEffects(Mutex<Vec<SideEffects>>);

#[async_trait]
impl EffectWriter for RecordedEffects {
    async fn write(&self, effects: &SideEffects) -> Result<(), Unavailable> {
        self.0.lock().unwrap().push(effects.clone());
        Ok(())
    }
}

fn mail_queue(store: MockMailQueueStore, configured: bool) -> (MailQueue, Arc<RecordedEffects>) {
    let effects = Arc::new(RecordedEffects::default());
    let ports = OutboxSenderPorts {
        outbox: Arc::new(MockOutbox::new()),
        renderer: Arc::new(MockEmailRenderer::new()),
        relay: Arc::new(MockRelay::new()),
    };
    let clock = Arc::new(FixedClock(START));
    let sender =
        OutboxSender::new(ports, OutboxSenderSettings::default(), Arc::<FixedClock>::clone(&clock));
    let configured = LiveSetting::new(configured);
    let writer = Arc::<RecordedEffects>::clone(&effects);
    (MailQueue::new(Arc::new(store), writer, sender, configured, clock), effects)
}

fn record(failure: Option<&str>, failed_at: Option<Timestamp>) -> MailRecord {
    MailRecord {
        id: MailId::generate(),
        template: "invitation".to_owned(),
        user: None,
        address: None,
        queued_at: START,
        due_at: START,
        claimed_until: None,
        tries: 1,
        failed_at,
        failure: failure.map(str::to_owned),
    }
}

#[test]
fn the_state_follows_from_the_last_attempt() {
    let states = [
        record(None, None).state(),
        record(Some("451"), None).state(),
        record(Some("550"), Some(START)).state(),
    ];

    assert_eq!(states, MailState::ALL);
}

#[tokio::test]
async fn a_test_goes_to_the_administrator_and_is_audited() {
    let (queue, effects) = mail_queue(MockMailQueueStore::new(), true);
    let admin = UserId::generate();

    queue.send_test(admin).await.unwrap();

    let side_effects = effects.0.lock().unwrap()[0].clone();
    assert_eq!(side_effects.audit[0].action, "Mail.TestSent");
    assert_eq!(side_effects.mail[0].to, Recipient::User(admin));
    assert_eq!(side_effects.mail[0].email.name, "relay-test");
}

#[tokio::test]
async fn only_the_newest_test_since_a_change_is_found() {
    let test = |failure| MailRecord { template: TEST_TEMPLATE.to_owned(), ..record(failure, None) };
    let after_start = Timestamp::from_micros(1);

    for (emails, since, expected) in [
        (vec![], None, None),
        (vec![record(Some("451"), None)], None, None),
        (vec![record(Some("451"), None), test(Some("550"))], None, Some(Some("550"))),
        (vec![test(None), test(Some("451"))], None, Some(None)),
        (vec![test(Some("451"))], Some(START), Some(Some("451"))),
        (vec![test(Some("451"))], Some(after_start), None),
    ] {
        let case = format!("{emails:?} {since:?}");
        let mut store = MockMailQueueStore::new();
        store.expect_page().once().return_once(move |_, _, _, _| Ok(emails));
        let (queue, _) = mail_queue(store, true);

        let unsent_test = queue.unsent_test(UserId::generate(), since).await.unwrap();

        let failure = unsent_test.as_ref().map(|it| it.failure.as_deref());
        assert_eq!(failure, expected, "{case}");
    }
}

#[tokio::test]
async fn only_retries_of_emails_since_a_change_count() {
    let after_start = Timestamp::from_micros(1);

    for (emails, since, expected) in [
        (vec![], None, false),
        (vec![record(Some("451"), None)], None, true),
        (vec![record(Some("451"), None)], Some(START), true),
        (vec![record(Some("451"), None)], Some(after_start), false),
    ] {
        let case = format!("{emails:?} {since:?}");
        let mut store = MockMailQueueStore::new();
        store
            .expect_page()
            .withf(|user, state, _, _| user.is_none() && *state == Some(MailState::Postponed))
            .once()
            .return_once(move |_, _, _, _| Ok(emails));
        let (queue, _) = mail_queue(store, true);

        assert_eq!(queue.is_retrying(since).await.unwrap(), expected, "{case}");
    }
}

#[tokio::test]
async fn nothing_is_queued_without_a_relay() {
    let (queue, effects) = mail_queue(MockMailQueueStore::new(), false);

    let result = queue.send_test(UserId::generate()).await;

    assert!(matches!(result, Err(MailQueueError::NotConfigured)));
    assert!(effects.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn an_email_that_is_being_sent_is_busy_and_a_missing_one_unknown() {
    for (record, is_busy) in [(Some(record(None, None)), true), (None, false)] {
        let mut store = MockMailQueueStore::new();
        store.expect_discard().once().returning(|_, _, _| Ok(false));
        store.expect_find().once().return_once(move |_| Ok(record));
        let (queue, _) = mail_queue(store, true);

        let result = queue.discard(UserId::generate(), MailId::generate()).await;

        assert_eq!(matches!(result, Err(MailQueueError::Busy)), is_busy);
        assert_eq!(matches!(result, Err(MailQueueError::Unknown)), !is_busy);
    }
}

#[tokio::test]
async fn a_retry_is_audited_with_the_id_of_the_email() {
    let mail = MailId::generate();
    let mut store = MockMailQueueStore::new();
    store
        .expect_make_due()
        .withf(move |id, now, effects| {
            let entry = &effects.audit[0];
            let object = Some(format!("mail:{mail}"));
            (*id, *now) == (mail, START) && entry.action == "Mail.Retried" && entry.object == object
        })
        .once()
        .returning(|_, _, _| Ok(true));
    let (queue, _) = mail_queue(store, true);

    queue.retry(UserId::generate(), mail).await.unwrap();
}
