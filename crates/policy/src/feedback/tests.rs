//! Tests of feedback.

use pia_testkit::FixedClock;
use serde_json::json;
use uuid::Uuid;

use super::*;

const AT: Timestamp = Timestamp::UNIX_EPOCH;
const USER: UserId = UserId(Uuid::from_u128(1));

fn draft(rating: &str) -> FeedbackDraft {
    FeedbackDraft {
        schema_version: Some(1),
        message_id: Some(Uuid::from_u128(2)),
        rating: Some(rating.to_owned()),
        comment: Some("  It made the figures up.\n".to_owned()),
        answer_text: Some("secret answer".to_owned()),
        pii_tokenized: Some(false),
        answered_at: Some(AT),
        reported_at: Some(AT),
        ..FeedbackDraft::default()
    }
}

/// Store and settings of a test.
struct Setup<'a> {
    store: MockFeedbackStore,
    recipients: &'a [&'a str],
    sends_mail: bool,
}

impl Default for Setup<'_> {
    fn default() -> Self {
        Self { store: MockFeedbackStore::new(), recipients: &[], sends_mail: true }
    }
}

fn feedback_with(setup: Setup<'_>) -> Feedback {
    let Setup { store, recipients, sends_mail } = setup;
    let recipients = recipients.iter().map(|&it| it.to_owned()).collect();
    let day = Duration::from_hours(24);
    let settings =
        FeedbackSettings { recipients, answer_retention: day, report_retention: 2 * day };
    let clock = Arc::new(FixedClock(AT + 10 * day));
    Feedback::new(Arc::new(store), LiveSetting::new(settings), LiveSetting::new(sends_mail), clock)
}

/// Returns a store that expects a report with this number of emails.
fn storing(emails: usize) -> MockFeedbackStore {
    let mut store = MockFeedbackStore::new();
    let check = move |entry: &FeedbackEntry, effects: &SideEffects| {
        let text = format!("{:?}", effects.mail);
        assert!(!text.contains("secret answer"), "{text}");
        let comment = entry.report.comment.as_deref();
        comment == Some("It made the figures up.") && effects.mail.len() == emails
    };
    store.expect_add().once().withf(check).returning(|_, _| Ok(()));
    store
}

#[tokio::test]
async fn a_negative_report_is_emailed_without_the_answer() {
    let recipients = &["ops@example.org", "vendor@example.org"];
    let feedback = feedback_with(Setup { store: storing(2), recipients, ..Setup::default() });

    assert!(feedback.submit(USER, draft("down")).await.unwrap().notified);
}

#[tokio::test]
async fn other_reports_are_stored_only() {
    let ops: &[&str] = &["ops@example.org"];
    for (rating, recipients, sends_mail) in
        [("up", ops, true), ("down", &[], true), ("down", ops, false)]
    {
        let feedback = feedback_with(Setup { store: storing(0), recipients, sends_mail });

        assert!(!feedback.submit(USER, draft(rating)).await.unwrap().notified);
    }
}

#[tokio::test]
async fn every_violation_is_listed() {
    let empty = FeedbackDraft { model: Some("x".repeat(256)), ..FeedbackDraft::default() };
    let wrong = FeedbackDraft {
        schema_version: Some(2),
        comment: Some("x".repeat(10_001)),
        answer_text: Some("a\0b".to_owned()),
        extension: json!({ "x": "y".repeat(16 * 1024) }).as_object().cloned().unwrap(),
        ..draft("sideways")
    };
    for (draft, expected) in [
        (empty, "schemaVersion messageId rating piiTokenized answeredAt reportedAt model"),
        (wrong, "rating schemaVersion  comment answerText"),
    ] {
        let result = feedback_with(Setup::default()).submit(USER, draft).await;

        let Err(FeedbackError::Invalid(violations)) = result else { panic!("{result:?}") };
        let fields: Vec<_> = violations.iter().map(|it| it.field).collect();
        assert_eq!(fields.join(" "), expected);
    }
}

#[tokio::test]
async fn the_sweep_follows_the_settings() {
    let mut store = MockFeedbackStore::new();
    let day = Duration::from_hours(24);
    let due = move |answers: &Timestamp, reports: &Timestamp| {
        *answers == AT + 9 * day && *reports == AT + 8 * day
    };
    store.expect_sweep().once().withf(due).returning(|_, _| Ok(3));

    let feedback = feedback_with(Setup { store, ..Setup::default() });

    assert_eq!(feedback.sweep().await.unwrap(), 3);
}
