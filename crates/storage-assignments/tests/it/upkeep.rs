//! Contract tests of time limits, lost starts and retention.

use futures_util::future::join_all;
use pia_assignments::{
    AssignmentStatus, AssignmentStore, EventKind, FailureCode, NewEvent, QueueState,
    QueuedAssignment, RunFailure, RunStore,
};
use pia_kernel::{AssignmentId, UserId};
use pia_storage::Database;

use crate::fixture::{
    at, completion, count_sealed, create_person, failure, forced_end, is_held, kinds, load,
    open_store, queue_assignment, start_run, step_change,
};

pia_testkit::contract_with_roles! {
    runs_that_take_too_long_are_ended_once,
    assignments_that_wait_long_are_found,
    only_one_that_waits_ends_unstarted,
    contents_are_deleted_after_their_time,
    old_assignments_are_deleted_with_their_events,
    the_queue_is_counted,
}

fn redaction_event() -> NewEvent {
    NewEvent::once(EventKind::Redacted, "The contents were deleted.")
}

/// Runs an assignment to its end.
async fn end_assignment(db: &Database, user: UserId, seconds: i64) -> AssignmentId {
    let run = start_run(db, user, seconds).await;
    assert!(open_store(db).change(run.claim, step_change(0, at(seconds))).await.unwrap());
    assert!(open_store(db).change(run.claim, completion(at(seconds))).await.unwrap());
    run.claim.id
}

async fn runs_that_take_too_long_are_ended_once(db: Database) {
    let user = create_person(&db).await;
    let store = open_store(&db);
    let late = start_run(&db, user, 0).await;
    let in_time = start_run(&db, user, 10).await;
    queue_assignment(&db, user, 0).await;

    let expired = join_all((0..5).map(|_| store.expire(at(10), failure(), at(60)))).await;

    let expired: Vec<_> = expired.into_iter().flat_map(Result::unwrap).collect();
    assert_eq!(expired, [late.claim.id]);
    let details = load(&db, user, late.claim.id).await;
    assert_eq!(details.assignment.status, AssignmentStatus::Failed);
    assert_eq!(details.assignment.completed_at, Some(at(60)));
    assert_eq!(details.assignment.error_message.as_deref(), Some("It took too long."));
    assert_eq!(kinds(&details), ["queued", "started", "failed"]);
    assert_eq!(details.events[2].message.as_deref(), Some("It took too long."));
    assert!(is_held(&db, in_time.claim).await);
    assert!(!store.change(late.claim, completion(at(61))).await.unwrap());
}

async fn assignments_that_wait_long_are_found(db: Database) {
    let user = create_person(&db).await;
    let store = open_store(&db);
    let run = start_run(&db, user, 0).await;
    let queued_at_2 = queue_assignment(&db, user, 2).await;
    let queued_at_1 = queue_assignment(&db, user, 1).await;
    queue_assignment(&db, user, 5).await;

    for id in [queued_at_2, queued_at_2, run.claim.id] {
        store.count_restart(id).await.unwrap();
    }

    let oldest = QueuedAssignment { id: queued_at_1, restarts: 0 };
    let next = QueuedAssignment { id: queued_at_2, restarts: 2 };
    assert_eq!(store.queued_before(at(5), 9).await.unwrap(), [oldest, next]);
    assert_eq!(store.queued_before(at(5), 1).await.unwrap(), [oldest]);
    assert_eq!(store.queued_before(at(1), 9).await.unwrap(), []);
}

async fn only_one_that_waits_ends_unstarted(db: Database) {
    let user = create_person(&db).await;
    let store = open_store(&db);
    let run = start_run(&db, user, 0).await;
    let queued = queue_assignment(&db, user, 0).await;
    let not_started = RunFailure { code: FailureCode::NotStarted, ..failure() };
    let give_up = async |id| store.give_up(id, not_started.clone(), at(9)).await.unwrap();

    assert!(!give_up(run.claim.id).await);
    assert!(!give_up(AssignmentId::generate()).await);
    assert!(give_up(queued).await);
    assert!(!give_up(queued).await);

    let details = load(&db, user, queued).await;
    assert_eq!(details.assignment.error_code.as_deref(), Some("operator_not_started"));
    assert_eq!(kinds(&details), ["queued", "failed"]);
}

async fn contents_are_deleted_after_their_time(db: Database) {
    let user = create_person(&db).await;
    let store = open_store(&db);
    let mut ids = Vec::new();
    for second in 0..4 {
        ids.push(end_assignment(&db, user, second).await);
    }
    let cancelled = queue_assignment(&db, user, 0).await;
    assert!(store.cancel(user, cancelled, forced_end(EventKind::Cancelled, at(9))).await.unwrap());
    let redact =
        async |before| store.redact(at(before), at(9), redaction_event(), 2).await.unwrap();

    assert_eq!(redact(3).await, 2);
    assert_eq!(load(&db, user, ids[2]).await.plaintext_dropped_at, None);
    assert_eq!(redact(3).await, 1);
    assert_eq!(redact(3).await, 0);

    assert_eq!(count_sealed(&db).await, (2, 1));

    let details = load(&db, user, ids[0]).await;
    assert_eq!(details.plaintext_dropped_at, Some(at(9)));
    assert_eq!(details.assignment.completed_at, Some(at(0)));
    assert_eq!(kinds(&details).last(), Some(&"redacted"));
    assert_eq!(load(&db, user, ids[3]).await.artifact_text.as_deref(), Some("The brief."));

    let counts = join_all((0..4).map(|_| store.redact(at(99), at(99), redaction_event(), 9))).await;
    assert_eq!(counts.into_iter().map(Result::unwrap).sum::<usize>(), 2);
    for id in ids {
        let details = load(&db, user, id).await;
        assert_eq!(kinds(&details).iter().filter(|it| **it == "redacted").count(), 1);
    }
}

async fn old_assignments_are_deleted_with_their_events(db: Database) {
    let user = create_person(&db).await;
    let store = open_store(&db);
    for second in 0..4 {
        end_assignment(&db, user, second).await;
    }
    let run = start_run(&db, user, 4).await;

    assert_eq!(store.delete(at(3), 2).await.unwrap(), 2);
    assert_eq!(store.delete(at(3), 2).await.unwrap(), 1);
    assert_eq!(store.delete(at(3), 2).await.unwrap(), 0);

    let remaining = store.list(user, 0, 9).await.unwrap();
    assert_eq!(remaining.len(), 2);
    assert_eq!(remaining[0].id, run.claim.id);
    assert_eq!(count_sealed(&db).await, (2, 1), "messages of the others are gone");
}

async fn the_queue_is_counted(db: Database) {
    let user = create_person(&db).await;
    let store = open_store(&db);
    assert_eq!(store.count_queue().await.unwrap(), QueueState::default());
    end_assignment(&db, user, 0).await;
    start_run(&db, user, 1).await;
    queue_assignment(&db, user, 7).await;
    queue_assignment(&db, user, 6).await;

    let queue = store.count_queue().await.unwrap();

    let expected = QueueState { queued: 2, running: 1, oldest_queued_at: Some(at(6)) };
    assert_eq!(queue, expected);
}
