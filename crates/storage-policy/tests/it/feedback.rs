//! Contract tests of reports on answers.

use std::time::Duration;

use futures_util::future::join_all;
use pia_kernel::{FeedbackId, PageRequest, SideEffects, TimeOrder, Timestamp, UserId};
use pia_policy::{
    FeedbackChangeOutcome, FeedbackDraft, FeedbackEntry, FeedbackFilter, FeedbackStatus,
    FeedbackStore, Rating, TriageUpdate,
};
use pia_storage::Database;
use pia_storage_policy::SqlFeedback;
use uuid::Uuid;

use crate::people::{START, count_noted, create_person, noting};

pia_testkit::contract! {
    a_report_is_stored_unchanged,
    pages_are_filtered_and_in_order_of_time,
    a_triage_keeps_what_it_omits,
    one_of_concurrent_triages_of_one_version_is_stored,
    answers_are_deleted_before_reports,
}

const DAY: Duration = Duration::from_hours(24);

fn report(user: UserId, rating: &str, at: Timestamp) -> FeedbackEntry {
    let extension = serde_json::json!({ "nested": { "nul": "\0" }, "n": 1.5 });
    let draft = FeedbackDraft {
        schema_version: Some(1),
        message_id: Some(Uuid::now_v7()),
        rating: Some(rating.to_owned()),
        comment: Some("Wrong.".to_owned()),
        answer_text: Some("2 + 2 = 5".to_owned()),
        pii_tokenized: Some(true),
        answered_at: Some(at),
        reported_at: Some(at),
        extension: extension.as_object().cloned().unwrap(),
        ..FeedbackDraft::default()
    };
    FeedbackEntry::new(FeedbackId::generate(), user, draft.validate().unwrap(), at)
}

async fn add_entry(feedback: &SqlFeedback, entry: FeedbackEntry) -> FeedbackEntry {
    feedback.add(entry.clone(), SideEffects::default()).await.unwrap();
    entry
}

async fn a_report_is_stored_unchanged(db: Database) {
    let feedback = SqlFeedback::new(db.clone());
    let entry = add_entry(&feedback, report(create_person(&db).await, "down", START)).await;

    assert_eq!(feedback.find(entry.id).await.unwrap(), Some(entry));
    assert_eq!(feedback.find(FeedbackId::generate()).await.unwrap(), None);
}

async fn pages_are_filtered_and_in_order_of_time(db: Database) {
    let feedback = SqlFeedback::new(db.clone());
    let user = create_person(&db).await;
    let mut ids = Vec::new();
    for day in 0..5_u32 {
        let rating = if day % 2 == 0 { "down" } else { "up" };
        ids.push(add_entry(&feedback, report(user, rating, START + DAY * day)).await.id);
    }
    let closing_update = TriageUpdate {
        status: Some(FeedbackStatus::Closed),
        note: None,
        at: START,
        expected: None,
    };
    feedback.triage(ids[4], closing_update, noting("triage")).await.unwrap();

    let filter = FeedbackFilter {
        status: Some(FeedbackStatus::New),
        rating: Some(Rating::Down),
        ..FeedbackFilter::default()
    };
    let first_request = PageRequest { after: None, limit: 1 };
    let page = feedback.page(filter, first_request).await.unwrap();
    let next_page =
        feedback.page(filter, PageRequest { after: page.next, limit: 1 }).await.unwrap();
    let large_page = PageRequest { after: None, limit: 9 };
    let full_page = feedback.page(FeedbackFilter::default(), large_page).await.unwrap();
    let oldest_first = FeedbackFilter { order: TimeOrder::Oldest, ..FeedbackFilter::default() };
    let oldest_page =
        feedback.page(oldest_first, PageRequest { after: None, limit: 3 }).await.unwrap();
    let newer_request = PageRequest { after: oldest_page.next, limit: 3 };
    let newer_page = feedback.page(oldest_first, newer_request).await.unwrap();

    let other_report = add_entry(&feedback, report(create_person(&db).await, "up", START)).await;
    let of_other = FeedbackFilter { user: Some(other_report.user), ..FeedbackFilter::default() };
    let other_page = feedback.page(of_other, large_page).await.unwrap();

    let ids_of = |items: &[FeedbackEntry]| items.iter().map(|it| it.id).collect::<Vec<_>>();
    assert_eq!(ids_of(&other_page.items), [other_report.id]);
    assert_eq!(ids_of(&page.items), vec![ids[2]]);
    assert_eq!(ids_of(&next_page.items), vec![ids[0]]);
    assert_eq!(next_page.next, None);
    assert_eq!(ids_of(&oldest_page.items), ids[..3]);
    assert_eq!(ids_of(&newer_page.items), ids[3..]);
    ids.reverse();
    assert_eq!(ids_of(&full_page.items), ids);
}

async fn a_triage_keeps_what_it_omits(db: Database) {
    let feedback = SqlFeedback::new(db.clone());
    let entry = add_entry(&feedback, report(create_person(&db).await, "down", START)).await;
    let update = |status, note| TriageUpdate { status, note, at: START + DAY, expected: None };

    let noting_only = update(None, Some("Ask the vendor.".to_owned()));
    feedback.triage(entry.id, noting_only, noting("triage")).await.unwrap();
    let status_only = update(Some(FeedbackStatus::Triaged), None);
    let done = feedback.triage(entry.id, status_only, noting("triage")).await.unwrap();
    let FeedbackChangeOutcome::Done(done) = done else { panic!("{done:?}") };
    assert_eq!(done.note.as_deref(), Some("Ask the vendor."));
    assert_eq!(done.status, FeedbackStatus::Triaged);

    let cleared =
        feedback.triage(entry.id, update(None, Some(String::new())), noting("triage")).await;
    let FeedbackChangeOutcome::Done(cleared) = cleared.unwrap() else { panic!("a report") };
    assert_eq!(cleared.note.as_ref(), None);
    assert_eq!(cleared.report, entry.report);
    assert!(cleared.updated_at > done.updated_at);
    assert_eq!(feedback.find(entry.id).await.unwrap(), Some(*cleared));

    let unknown = feedback.triage(FeedbackId::generate(), update(None, None), noting("triage"));
    assert_eq!(unknown.await.unwrap(), FeedbackChangeOutcome::Unknown);
    assert_eq!(count_noted(&db, "triage").await, 3);
}

async fn one_of_concurrent_triages_of_one_version_is_stored(db: Database) {
    let feedback = SqlFeedback::new(db.clone());
    let entry = add_entry(&feedback, report(create_person(&db).await, "down", START)).await;
    let update = |number| TriageUpdate {
        status: None,
        note: Some(format!("note {number}")),
        at: START,
        expected: Some(START),
    };

    let calls = (0..20).map(|it| feedback.triage(entry.id, update(it), noting("triage")));
    let outcomes = join_all(calls).await.into_iter().map(Result::unwrap);

    let done_count = outcomes.filter(|it| matches!(it, FeedbackChangeOutcome::Done(_))).count();
    assert_eq!(done_count, 1);
    assert_eq!(count_noted(&db, "triage").await, 1);
}

async fn answers_are_deleted_before_reports(db: Database) {
    let feedback = SqlFeedback::new(db.clone());
    let user = create_person(&db).await;
    let [old, middle, new] = [0_u32, 10, 20].map(|day| report(user, "down", START + DAY * day));
    for entry in [&old, &middle, &new] {
        add_entry(&feedback, entry.clone()).await;
    }

    let swept = feedback.sweep(START + DAY * 15, START + DAY * 5).await.unwrap();

    let answer = async |entry: &FeedbackEntry| {
        let found_entry = feedback.find(entry.id).await.unwrap();
        found_entry.map(|it| it.report.answer_text.is_some())
    };
    assert_eq!(swept, 2);
    assert_eq!(answer(&old).await, None);
    assert_eq!(answer(&middle).await, Some(false));
    assert_eq!(answer(&new).await, Some(true));
}
