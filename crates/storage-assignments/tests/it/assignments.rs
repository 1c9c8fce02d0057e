//! Contract tests of handing over, reading and ending assignments.

use std::time::Duration;

use futures_util::future::join_all;
use pia_assignments::{
    Assignment, AssignmentCreationOutcome, AssignmentStatus, AssignmentStore, CollectionOutcome,
    EventKind, FailureCode, RunStore,
};
use pia_kernel::{AssignmentId, Page, PageRequest, SideEffects, TimeOrder, UserId};
use pia_storage::{Database, DatabaseKind};
use tokio::sync::Notify;

use crate::fixture::{
    assignment, at, completion, count_sealed, create_person, execute, forced_end, is_held, kinds,
    load, open_store, queue_assignment, start_run, step_change,
};

pia_testkit::contract_with_roles! {
    an_assignment_is_stored_with_its_first_event,
    concurrent_assignments_do_not_exceed_the_limit,
    other_processes_are_woken_when_an_assignment_is_handed_over,
    only_one_that_waits_is_discarded,
    assignments_are_listed_newest_first,
    assignments_of_all_users_are_paged_in_both_orders,
    assignments_of_all_users_are_found_by_status_and_id,
    an_assignment_belongs_to_its_user,
    an_unfinished_assignment_is_cancelled_once,
    a_terminated_assignment_has_failed_for_that_reason,
    collecting_deletes_contents_once,
    an_error_message_that_cannot_be_opened_spoils_no_list,
}

async fn an_assignment_is_stored_with_its_first_event(db: Database) {
    let user = create_person(&db).await;
    let id = queue_assignment(&db, user, 7).await;

    let details = load(&db, user, id).await;

    let actual = &details.assignment;
    assert_eq!(actual.skill.as_str(), "brief");
    assert_eq!(actual.mode.as_str(), "Assistant");
    assert_eq!(actual.status, AssignmentStatus::Queued);
    assert_eq!(actual.step_count, 0);
    assert_eq!(actual.tokens_spent, 0);
    assert_eq!(actual.created_at, at(7));
    assert_eq!(actual.updated_at, at(7));
    assert_eq!(actual.started_at, None);
    assert_eq!(actual.id, id);
    assert_eq!(actual.user, user);
    assert_eq!(actual.completed_at, None);
    assert_eq!(details.artifact_text, None);
    assert_eq!(details.plaintext_dropped_at, None);
    assert_eq!(details.events.len(), 1);
    assert_eq!(details.events[0].message.as_deref(), Some("Waiting for a worker."));
    assert_eq!(details.events[0].kind.as_str(), "queued");
    assert_eq!(details.events[0].created_at, at(7));
    assert_eq!(count_sealed(&db).await, (1, 0));
}

async fn concurrent_assignments_do_not_exceed_the_limit(db: Database) {
    let user = create_person(&db).await;
    let store = open_store(&db);

    let results = join_all((0..50).map(|_| store.create(assignment(user, at(0)), 2))).await;

    let successes =
        results.iter().filter(|it| *it.as_ref().unwrap() == AssignmentCreationOutcome::Done);
    assert_eq!(successes.count(), 2);
    assert!(results.iter().all(|it| *it.as_ref().unwrap() != AssignmentCreationOutcome::Gone));
    let entries = store.list(user, 0, 100).await.unwrap();
    assert_eq!(entries.len(), 2);
    // One that has ended does not count, and those of others do not.
    let end = forced_end(EventKind::Cancelled, at(1));
    assert!(store.cancel(user, entries[0].id, end).await.unwrap());
    let create = async |user| store.create(assignment(user, at(2)), 2).await.unwrap();
    assert_eq!(create(user).await, AssignmentCreationOutcome::Done);
    assert_eq!(create(user).await, AssignmentCreationOutcome::TooMany);
    assert_eq!(create(create_person(&db).await).await, AssignmentCreationOutcome::Done);
    assert_eq!(create(UserId::generate()).await, AssignmentCreationOutcome::Gone);
}

async fn other_processes_are_woken_when_an_assignment_is_handed_over(db: Database) {
    if db.provider() == DatabaseKind::Sqlite {
        return;
    }
    let user = create_person(&db).await;
    let store = open_store(&db);
    let wake = Notify::new();
    let woken = async {
        // It is woken once it listens.
        wake.notified().await;
        queue_assignment(&db, user, 0).await;
        tokio::time::timeout(Duration::from_secs(10), wake.notified()).await.unwrap();
    };

    tokio::select! {
        () = store.wake_when_queued(&wake) => panic!("it listens no more"),
        () = woken => {}
    }
}

async fn only_one_that_waits_is_discarded(db: Database) {
    let user = create_person(&db).await;
    let run = start_run(&db, user, 0).await;
    let waiting = queue_assignment(&db, user, 0).await;

    for id in [run.claim.id, waiting, AssignmentId::generate()] {
        open_store(&db).discard(id).await.unwrap();
    }

    assert!(open_store(&db).load(user, waiting).await.unwrap().is_none());
    assert_eq!(kinds(&load(&db, user, run.claim.id).await), ["queued", "started"]);
}

async fn assignments_are_listed_newest_first(db: Database) {
    let ada = create_person(&db).await;
    let bob = create_person(&db).await;
    let mut ids = Vec::new();
    for (user, second) in [(ada, 3), (bob, 1), (ada, 2), (ada, 3)] {
        ids.push(queue_assignment(&db, user, second).await);
    }
    let store = open_store(&db);
    let own = async |skip, limit| -> Vec<AssignmentId> {
        store.list(ada, skip, limit).await.unwrap().into_iter().map(|it| it.id).collect()
    };
    let all = async |skip, limit| -> Vec<AssignmentId> {
        store.list_all(skip, limit).await.unwrap().into_iter().map(|it| it.id).collect()
    };

    assert_eq!(own(0, 9).await, [ids[3], ids[0], ids[2]]);
    assert_eq!(own(1, 1).await, [ids[0]]);
    assert_eq!(own(3, 9).await, []);
    assert_eq!(all(0, 9).await, [ids[3], ids[0], ids[2], ids[1]]);
    assert_eq!(all(2, 1).await, [ids[2]]);
}

async fn assignments_of_all_users_are_paged_in_both_orders(db: Database) {
    let ada = create_person(&db).await;
    let bob = create_person(&db).await;
    let mut ids = Vec::new();
    for (user, second) in [(ada, 3), (bob, 1), (ada, 2), (ada, 3)] {
        ids.push(queue_assignment(&db, user, second).await);
    }
    let store = open_store(&db);
    let page = async |order, after| {
        store.page_of_all(None, None, order, PageRequest { after, limit: 2 }).await.unwrap()
    };

    let first = page(TimeOrder::Newest, None).await;
    let oldest = page(TimeOrder::Oldest, None).await;
    queue_assignment(&db, bob, 4).await;
    let second = page(TimeOrder::Newest, first.next).await;
    let newer = page(TimeOrder::Oldest, oldest.next).await;
    let all = PageRequest { after: None, limit: 9 };
    let of_ada = store.page_of_all(Some(ada), None, TimeOrder::Oldest, all).await.unwrap();

    assert_eq!(ids_of(&first), [ids[3], ids[0]]);
    assert_eq!(ids_of(&second), [ids[2], ids[1]]);
    assert_eq!(second.next, None);
    assert_eq!(ids_of(&oldest), [ids[1], ids[2]]);
    assert_eq!(ids_of(&newer), [ids[0], ids[3]]);
    assert_eq!(ids_of(&of_ada), [ids[2], ids[0], ids[3]]);
}

fn ids_of(page: &Page<Assignment>) -> Vec<AssignmentId> {
    page.items.iter().map(|it| it.id).collect()
}

async fn assignments_of_all_users_are_found_by_status_and_id(db: Database) {
    let ada = create_person(&db).await;
    let bob = create_person(&db).await;
    let run = start_run(&db, bob, 1).await.claim.id;
    let waiting = queue_assignment(&db, ada, 2).await;
    let store = open_store(&db);
    let with = async |status| -> Vec<AssignmentId> {
        let request = PageRequest { after: None, limit: 9 };
        ids_of(&store.page_of_all(None, Some(status), TimeOrder::Newest, request).await.unwrap())
    };
    let of = async |user, status| -> Vec<AssignmentId> {
        let request = PageRequest { after: None, limit: 9 };
        ids_of(&store.page_of_all(Some(user), status, TimeOrder::Newest, request).await.unwrap())
    };

    assert_eq!(with(AssignmentStatus::Queued).await, [waiting]);
    assert_eq!(with(AssignmentStatus::Running).await, [run]);
    assert_eq!(with(AssignmentStatus::Failed).await, []);
    assert_eq!(of(ada, None).await, [waiting]);
    assert_eq!(of(bob, None).await, [run]);
    assert_eq!(of(bob, Some(AssignmentStatus::Running)).await, [run]);
    assert_eq!(of(bob, Some(AssignmentStatus::Queued)).await, []);
    assert_eq!(store.find(run).await.unwrap().map(|it| it.user), Some(bob));
    assert!(store.find(AssignmentId::generate()).await.unwrap().is_none());
}

async fn an_assignment_belongs_to_its_user(db: Database) {
    let ada = create_person(&db).await;
    let bob = create_person(&db).await;
    let id = queue_assignment(&db, ada, 0).await;
    let store = open_store(&db);

    assert!(store.load(bob, id).await.unwrap().is_none());
    assert!(store.list(bob, 0, 9).await.unwrap().is_empty());
    assert!(!store.cancel(bob, id, forced_end(EventKind::Cancelled, at(1))).await.unwrap());
    let collected = store.collect(bob, id, forced_end(EventKind::Redacted, at(1))).await.unwrap();
    assert_eq!(collected, CollectionOutcome::NotFound);
    assert_eq!(load(&db, ada, id).await.assignment.status, AssignmentStatus::Queued);

    execute(&db, "DELETE FROM accounts").await;
    assert!(store.list_all(0, 9).await.unwrap().is_empty());
    assert_eq!(count_sealed(&db).await, (0, 0));
}

async fn an_unfinished_assignment_is_cancelled_once(db: Database) {
    let user = create_person(&db).await;
    let run = start_run(&db, user, 0).await;
    let waiting = queue_assignment(&db, user, 0).await;
    let cancel = async |id| {
        open_store(&db).cancel(user, id, forced_end(EventKind::Cancelled, at(9))).await.unwrap()
    };

    for id in [run.claim.id, waiting] {
        assert!(cancel(id).await);
        assert!(!cancel(id).await);
        let details = load(&db, user, id).await;
        assert_eq!(details.assignment.status, AssignmentStatus::Cancelled);
        assert_eq!(details.assignment.completed_at, Some(at(9)));
        assert_eq!(kinds(&details).last(), Some(&"cancelled"));
    }
    assert!(!cancel(AssignmentId::generate()).await);
    assert!(!is_held(&db, run.claim).await);
}

async fn a_terminated_assignment_has_failed_for_that_reason(db: Database) {
    let user = create_person(&db).await;
    let id = queue_assignment(&db, user, 0).await;
    let store = open_store(&db);
    let mut end = forced_end(EventKind::Terminated, at(9));
    "Wrong\0 data".clone_into(&mut end.event.message);
    end.event = end.event.by_other();
    let effects = || SideEffects::of_object(at(9), None, "assignment:1".to_owned(), "Ended");

    assert!(store.terminate(id, end.clone(), effects()).await.unwrap());
    assert!(!store.terminate(id, end.clone(), effects()).await.unwrap());
    assert!(!store.terminate(AssignmentId::generate(), end, effects()).await.unwrap());

    let details = load(&db, user, id).await;
    let actual = &details.assignment;
    assert_eq!(actual.status, AssignmentStatus::Failed);
    assert_eq!(actual.error_code.as_deref(), Some(FailureCode::Terminated.name()));
    assert_eq!(actual.error_message.as_deref(), Some("Wrong\0 data"));
    assert_eq!(kinds(&details), ["queued", "terminated"]);
    assert_eq!(details.events[1].message.as_deref(), Some("Wrong\0 data"));
    assert_eq!(count_sealed(&db).await, (1, 1));
    let entries = store.list(user, 0, 9).await.unwrap();
    assert_eq!(entries[0].error_message.as_deref(), Some("Wrong\0 data"));
    let entry = &store.list_all(0, 9).await.unwrap()[0];
    assert_eq!(entry.error_message, None);
    assert!(entry.error_code.is_some());
}

async fn collecting_deletes_contents_once(db: Database) {
    let user = create_person(&db).await;
    let run = start_run(&db, user, 0).await;
    let store = open_store(&db);
    let id = run.claim.id;
    let collect = async |seconds| {
        let end = forced_end(EventKind::Redacted, at(seconds));
        store.collect(user, id, end).await.unwrap()
    };
    assert!(store.change(run.claim, step_change(0, at(1))).await.unwrap());
    assert_eq!(collect(2).await, CollectionOutcome::Unfinished);
    assert!(store.change(run.claim, completion(at(2))).await.unwrap());
    let before = load(&db, user, id).await;
    assert_eq!(before.artifact_json.as_deref(), Some(r#"{"choices":[]}"#));
    assert_eq!(before.artifact_text.as_deref(), Some("The brief."));
    assert_eq!(before.events[2].message.as_deref(), Some("Facts: output 0"));
    assert_eq!(before.assignment.step_count, 2);
    assert_eq!(before.assignment.tokens_spent, 15);

    let collected = join_all((3..13).map(collect)).await;

    assert!(collected.iter().all(|it| *it == CollectionOutcome::Done));
    let after = load(&db, user, id).await;
    assert_eq!(after.artifact_json, None);
    assert_eq!(after.artifact_text, None);
    assert!(after.plaintext_dropped_at.is_some_and(|it| it >= at(3)));
    let expected = ["queued", "started", "step", "continued", "artifact", "completed", "redacted"];
    assert_eq!(kinds(&after), expected);
    assert_eq!(after.events[2].message, None);
    assert_eq!(after.events[1].message.as_deref(), Some("Started."));
    assert_eq!(after.assignment.completed_at, before.assignment.completed_at);
    assert_eq!(count_sealed(&db).await, (0, 0));
}

async fn an_error_message_that_cannot_be_opened_spoils_no_list(db: Database) {
    let user = create_person(&db).await;
    let id = queue_assignment(&db, user, 0).await;
    let store = open_store(&db);
    let end = forced_end(EventKind::Terminated, at(1));
    assert!(store.terminate(id, end, SideEffects::default()).await.unwrap());
    execute(&db, "DELETE FROM person_salts").await;

    let entries = store.list(user, 0, 9).await.unwrap();

    assert_eq!(entries[0].error_message, None);
    assert!(store.load(user, id).await.is_err());
}
