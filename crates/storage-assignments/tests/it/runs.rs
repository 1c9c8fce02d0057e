//! Contract tests of claiming and changing runs.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;
use pia_assignments::{
    AssignmentStatus, AssignmentStore, Attempt, EventKind, RunChange, RunFailure, RunOutcome,
    RunStore, WorkerId,
};
use pia_storage::Database;
use uuid::Uuid;

use crate::fixture::{
    LEASE, at, claim, completion, count_sealed, create_person, execute, failure, forced_end,
    is_held, kinds, live_worker, load, open_store, queue_assignment, start_event, start_run,
    step_change,
};

pia_testkit::contract_with_roles! {
    concurrent_workers_claim_each_run_once,
    the_run_that_is_due_longest_is_claimed,
    a_run_of_a_dead_worker_can_be_claimed,
    a_certain_run_is_taken_from_its_worker,
    a_run_goes_on_where_it_was,
    a_lost_claim_changes_nothing,
    a_released_run_waits_until_it_is_due,
    a_failed_run_has_its_reason,
    an_event_that_is_appended_twice_exists_once,
    abandoned_tokens_count_whatever_the_status,
    workers_are_listed_while_they_are_alive,
    a_run_that_cannot_be_opened_blocks_no_other,
    a_clock_that_was_set_back_delays_no_run,
    a_thousand_runs_are_drained_in_order,
}

fn release(seconds: i64, attempt: Attempt) -> RunChange {
    let outcome = RunOutcome::Released { due_at: at(seconds), attempt };
    RunChange { at: at(5), tokens: 0, abandoned: 3, events: Vec::new(), outcome }
}

async fn concurrent_workers_claim_each_run_once(db: Database) {
    let user = create_person(&db).await;
    let mut ids = HashSet::new();
    for _ in 0..10 {
        ids.insert(queue_assignment(&db, user, 0).await);
    }

    let workers = join_all((0..20).map(|_| live_worker(&db, at(1)))).await;
    let db = &db;
    let work = |worker| async move {
        let mut claims = Vec::new();
        while let Some(run) = claim(db, worker, at(1)).await {
            claims.push(run.claim);
        }
        claims
    };

    let claims: Vec<_> = join_all(workers.into_iter().map(work)).await.concat();

    assert_eq!(claims.len(), ids.len());
    assert!(claims.iter().all(|it| it.fence == 1));
    assert_eq!(claims.iter().map(|it| it.id).collect::<HashSet<_>>(), ids);
    for id in ids {
        let details = load(db, user, id).await;
        assert_eq!(details.assignment.status, AssignmentStatus::Running);
        assert_eq!(details.assignment.started_at, Some(at(1)));
        assert_eq!(kinds(&details), ["queued", "started"]);
    }
}

async fn the_run_that_is_due_longest_is_claimed(db: Database) {
    let user = create_person(&db).await;
    let worker = live_worker(&db, at(0)).await;
    let due_at_5 = queue_assignment(&db, user, 5).await;
    let due_at_3 = queue_assignment(&db, user, 3).await;

    assert!(claim(&db, worker, at(2)).await.is_none());

    let run = claim(&db, worker, at(5)).await.unwrap();
    assert_eq!(run.claim.id, due_at_3);
    assert_eq!(run.user, user);
    assert_eq!(run.step_count, 0);
    assert_eq!(run.skill.name.as_str(), "brief");
    assert_eq!(run.skill.steps.len(), 3);
    assert_eq!(run.input.prompt, "Brief me on the move.");
    assert_eq!(run.started_at, at(5));
    assert_eq!(run.tools, None);

    assert_eq!(claim(&db, worker, at(5)).await.unwrap().claim.id, due_at_5);
    assert!(claim(&db, worker, at(5)).await.is_none());
}

async fn a_run_of_a_dead_worker_can_be_claimed(db: Database) {
    let user = create_person(&db).await;
    let store = open_store(&db);
    let run_of_dead = start_run(&db, user, 0).await;
    let lease_end = at(0) + LEASE;

    let successor = live_worker(&db, lease_end - Duration::from_secs(1)).await;
    assert!(claim(&db, successor, lease_end - Duration::from_secs(1)).await.is_none());

    let run = claim(&db, successor, lease_end).await.unwrap();
    assert_eq!(run.claim.id, run_of_dead.claim.id);
    assert_eq!(run.claim.fence, 2);
    assert_eq!(run.started_at, at(0), "it was started before");
    assert!(!is_held(&db, run_of_dead.claim).await);
    assert!(is_held(&db, run.claim).await);

    store.keep_alive(successor, "host-1", lease_end, LEASE * 2).await.unwrap();
    let last_worker = live_worker(&db, lease_end + LEASE).await;
    assert!(claim(&db, last_worker, lease_end + LEASE).await.is_none());
    store.retire(successor).await.unwrap();
    assert_eq!(claim(&db, last_worker, lease_end + LEASE).await.unwrap().claim.fence, 3);

    assert_eq!(kinds(&load(&db, user, run_of_dead.claim.id).await), ["queued", "started"]);
}

async fn a_certain_run_is_taken_from_its_worker(db: Database) {
    let user = create_person(&db).await;
    let store = open_store(&db);
    let held_run = start_run(&db, user, 0).await;
    let queued = queue_assignment(&db, user, 9).await;
    let worker = live_worker(&db, at(1)).await;
    let claim_one = async |id| store.claim_one(id, worker, at(1), start_event()).await.unwrap();

    let run = claim_one(held_run.claim.id).await.unwrap();
    assert_eq!(run.claim.fence, 2);
    assert!(!is_held(&db, held_run.claim).await);
    assert!(!store.change(held_run.claim, completion(at(2))).await.unwrap());

    assert_eq!(claim_one(queued).await.unwrap().claim.fence, 1, "it is not due yet");
    let details = load(&db, user, queued).await;
    assert_eq!(details.assignment.status, AssignmentStatus::Running);
    assert_eq!(kinds(&details), ["queued", "started"]);

    assert!(store.change(run.claim, completion(at(2))).await.unwrap());
    assert!(claim_one(held_run.claim.id).await.is_none());
}

async fn a_run_goes_on_where_it_was(db: Database) {
    let user = create_person(&db).await;
    let store = open_store(&db);
    let run_of_dead = start_run(&db, user, 0).await;
    for step in 0..2 {
        assert!(store.change(run_of_dead.claim, step_change(step, at(1))).await.unwrap());
    }

    let successor = live_worker(&db, at(0) + LEASE).await;
    let run = claim(&db, successor, at(0) + LEASE).await.unwrap();

    assert_eq!(run.step_count, 2);
    assert_eq!(run.tokens_spent, 20);
    assert_eq!(run.outputs, ["output 0", "output 1"]);
    assert_eq!(run.tools, Some(vec!["search".to_owned()]));

    assert!(store.change(run.claim, completion(at(90))).await.unwrap());
    let details = load(&db, user, run.claim.id).await;
    let assignment = &details.assignment;
    assert_eq!(assignment.status, AssignmentStatus::Completed);
    assert_eq!(assignment.step_count, 3);
    assert_eq!(assignment.completed_at, Some(at(90)));
    assert_eq!(assignment.updated_at, at(90));
    let expected =
        ["queued", "started", "step", "continued", "step", "continued", "artifact", "completed"];
    assert_eq!(kinds(&details), expected);
    assert_eq!(count_sealed(&db).await, (1, 2));
}

async fn a_lost_claim_changes_nothing(db: Database) {
    let user = create_person(&db).await;
    let store = open_store(&db);
    let run_of_dead = start_run(&db, user, 0).await;
    let lease_end = at(0) + LEASE;
    let taken_run = claim(&db, live_worker(&db, lease_end).await, lease_end).await.unwrap();
    let unchanged = load(&db, user, run_of_dead.claim.id).await;
    let failed_change =
        RunChange { outcome: RunOutcome::Failed(failure()), ..completion(lease_end) };

    for change in [
        step_change(0, lease_end),
        completion(lease_end),
        failed_change,
        release(1, Attempt::Failed),
    ] {
        assert!(!store.change(run_of_dead.claim, change).await.unwrap());
    }

    assert_eq!(load(&db, user, run_of_dead.claim.id).await, unchanged);
    assert!(is_held(&db, taken_run.claim).await);

    let cancellation = forced_end(EventKind::Cancelled, lease_end);
    assert!(!store.holds(run_of_dead.claim).await.unwrap());
    assert!(store.holds(taken_run.claim).await.unwrap());
    assert!(store.cancel(user, run_of_dead.claim.id, cancellation).await.unwrap());
    assert!(!store.holds(taken_run.claim).await.unwrap());
    assert!(!store.change(taken_run.claim, completion(lease_end)).await.unwrap());
}

async fn a_released_run_waits_until_it_is_due(db: Database) {
    let user = create_person(&db).await;
    let store = open_store(&db);
    let run = start_run(&db, user, 0).await;
    let worker = live_worker(&db, at(5)).await;

    assert!(store.change(run.claim, release(20, Attempt::Failed)).await.unwrap());
    assert!(!is_held(&db, run.claim).await);
    assert!(!store.change(run.claim, completion(at(6))).await.unwrap());

    assert!(claim(&db, worker, at(19)).await.is_none());
    let repeated = claim(&db, worker, at(20)).await.unwrap();
    assert_eq!(repeated.failed_attempts, 1);
    assert_eq!(repeated.claim.fence, 2);

    assert!(store.change(repeated.claim, release(30, Attempt::Postponed)).await.unwrap());
    let postponed = claim(&db, worker, at(30)).await.unwrap();
    assert_eq!(postponed.failed_attempts, 1);

    assert!(store.change(postponed.claim, step_change(0, at(31))).await.unwrap());
    let details = load(&db, user, run.claim.id).await;
    assert_eq!(details.assignment.status, AssignmentStatus::Running);
    assert_eq!(details.assignment.tokens_abandoned, 6);

    store.retire(worker).await.unwrap();
    assert_eq!(claim(&db, worker, at(40)).await.unwrap().failed_attempts, 0);
}

async fn a_failed_run_has_its_reason(db: Database) {
    let user = create_person(&db).await;
    let store = open_store(&db);
    let run = start_run(&db, user, 0).await;
    let reason = RunFailure { message: "Out of \0 words".to_owned(), ..failure() };
    let events = vec![pia_assignments::NewEvent::once(EventKind::Failed, &reason.message)];
    let outcome = RunOutcome::Failed(reason.clone());
    let change = RunChange { at: at(3), tokens: 0, abandoned: 8, events, outcome };

    assert!(store.change(run.claim, change).await.unwrap());

    let details = load(&db, user, run.claim.id).await;
    let assignment = &details.assignment;
    assert_eq!(assignment.status, AssignmentStatus::Failed);
    assert_eq!(assignment.tokens_abandoned, 8);
    assert_eq!(assignment.error_code.as_deref(), Some(reason.code.name()));
    assert_eq!(assignment.error_message, Some(reason.message));
    assert_eq!(details.events.last().unwrap().message.as_deref(), Some("Out of  words"));
}

async fn an_event_that_is_appended_twice_exists_once(db: Database) {
    let user = create_person(&db).await;
    let store = open_store(&db);
    let run = start_run(&db, user, 0).await;

    for _ in 0..2 {
        assert!(store.change(run.claim, step_change(0, at(1))).await.unwrap());
    }
    assert!(store.change(run.claim, step_change(1, at(1))).await.unwrap());

    let expected = ["queued", "started", "step", "continued", "step", "continued"];
    assert_eq!(kinds(&load(&db, user, run.claim.id).await), expected);
}

async fn abandoned_tokens_count_whatever_the_status(db: Database) {
    let user = create_person(&db).await;
    let store = open_store(&db);
    let run = start_run(&db, user, 0).await;
    store.abandon(run.claim.id, 4).await.unwrap();
    assert!(store.change(run.claim, completion(at(1))).await.unwrap());
    join_all((0..5).map(|_| store.abandon(run.claim.id, 2))).await;

    let assignment = load(&db, user, run.claim.id).await.assignment;

    assert_eq!(assignment.tokens_spent, 5);
    assert_eq!(assignment.tokens_abandoned, 14);
}

async fn workers_are_listed_while_they_are_alive(db: Database) {
    let user = create_person(&db).await;
    let store = open_store(&db);
    let run = start_run(&db, user, 0).await;
    let idle_worker = live_worker(&db, at(30)).await;
    let workers_at = async |seconds| store.list_workers(at(seconds)).await.unwrap();

    let workers = workers_at(59).await;
    assert_eq!(workers.len(), 2);
    assert_eq!(workers[0].host.as_str(), "host-1");
    assert_eq!(workers[0].runs, 1);
    assert_eq!(workers[1].runs, 0);
    assert_eq!(workers[0].started_at, at(0));
    assert_eq!(workers[0].alive_until, at(60));
    let workers = workers_at(60).await;
    assert_eq!(workers.len(), 1, "the lease of the other is over");
    assert_eq!(workers[0].id, idle_worker);

    store.keep_alive(idle_worker, "host-1", at(60), LEASE).await.unwrap();
    let prolonged = &workers_at(119).await[0];
    assert_eq!(prolonged.started_at, at(30));
    assert_eq!(prolonged.alive_until, at(120));

    assert!(store.change(run.claim, completion(at(61))).await.unwrap());
    store.retire(idle_worker).await.unwrap();
    store.retire(WorkerId(Uuid::now_v7())).await.unwrap();
    assert!(workers_at(61).await.is_empty());
}

async fn a_run_that_cannot_be_opened_blocks_no_other(db: Database) {
    let ada = create_person(&db).await;
    let bob = create_person(&db).await;
    let store = open_store(&db);
    queue_assignment(&db, ada, 0).await;
    execute(&db, "DELETE FROM person_salts").await;
    let readable_id = queue_assignment(&db, bob, 1).await;
    let worker = live_worker(&db, at(2)).await;
    store.keep_alive(worker, "host-1", at(2), LEASE * 2).await.unwrap();

    assert!(store.claim(worker, at(2), start_event()).await.is_err());
    assert_eq!(claim(&db, worker, at(2)).await.unwrap().claim.id, readable_id);
    assert!(claim(&db, worker, at(2)).await.is_none());
    assert!(store.claim(worker, at(62), start_event()).await.is_err());
}

async fn a_clock_that_was_set_back_delays_no_run(db: Database) {
    let user = create_person(&db).await;
    let hour = 3_600;
    let held_run = start_run(&db, user, hour).await;
    let queued = queue_assignment(&db, user, hour).await;
    let worker = live_worker(&db, at(0)).await;

    let runs = [claim(&db, worker, at(0)).await, claim(&db, worker, at(0)).await];

    let ids: HashSet<_> = runs.into_iter().flatten().map(|it| it.claim.id).collect();
    assert_eq!(ids, HashSet::from([held_run.claim.id, queued]));
    assert!(!open_store(&db).change(held_run.claim, completion(at(1))).await.unwrap());
}

/// Each user has two runs, as many as are permitted by default.
async fn a_thousand_runs_are_drained_in_order(db: Database) {
    let mut users = Vec::new();
    let mut ids = Vec::new();
    for _ in 0..500 {
        users.push(create_person(&db).await);
    }
    for (number, user) in (0..).zip(users.iter().chain(&users)) {
        ids.push(queue_assignment(&db, *user, number).await);
    }

    let now = at(2_000);
    let workers = join_all((0..4).map(|_| live_worker(&db, now))).await;
    let (ids_of_one, ids_of_all) = ids.split_at(200);

    let mut order = Vec::new();
    for _ in ids_of_one {
        let run = claim(&db, workers[0], now).await.unwrap();
        assert!(open_store(&db).change(run.claim, completion(now)).await.unwrap());
        order.push(run.claim.id);
    }

    let db = &db;
    let drain = |worker| async move {
        let mut drained = Vec::new();
        while let Some(run) = claim(db, worker, now).await {
            assert!(open_store(db).change(run.claim, completion(now)).await.unwrap());
            drained.push(run.claim.id);
        }
        drained
    };

    let ids_by_worker = join_all(workers.into_iter().map(drain)).await;

    assert_eq!(order, ids_of_one);
    let place = |id| ids_of_all.iter().position(|it| it == id);
    for drained_ids in &ids_by_worker {
        assert!(drained_ids.is_sorted_by_key(place), "a worker took a later one first");
    }
    let drained_ids: Vec<_> = ids_by_worker.concat();
    assert_eq!(drained_ids.len(), ids_of_all.len());
    let expected_ids: HashSet<_> = ids_of_all.iter().copied().collect();
    assert_eq!(drained_ids.into_iter().collect::<HashSet<_>>(), expected_ids);
}
