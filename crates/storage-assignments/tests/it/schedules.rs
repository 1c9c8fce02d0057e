//! Contract tests of schedules.

use std::time::Duration;

use futures_util::future::join_all;
use pia_assignments::{
    AssignmentStatus, CatchUp, DueSchedule, LastStart, NewAssignment, Recurrence, Schedule,
    ScheduleCreationOutcome, ScheduleStart, ScheduleStartOutcome, ScheduleStore, SkipReason,
};
use pia_kernel::{Cursor, PageRequest, ScheduleId, Timestamp, UserId};
use pia_storage::Database;

use crate::fixture::{
    INPUT, assignment, at, claim, execute, live_worker, load, open_store, person, queue_assignment,
};

pia_testkit::contract_with_roles! {
    a_schedule_is_stored_changed_and_deleted_by_its_user_alone,
    concurrent_creations_stay_within_the_limit,
    only_schedules_whose_time_has_come_are_due,
    one_of_concurrent_starts_hands_the_assignment_over,
    a_schedule_that_hands_nothing_over_has_its_reason,
    an_unreadable_input_delays_no_other,
    an_unreadable_schedule_is_switched_off,
    schedules_of_all_users_are_listed_by_page,
}

const DAY: i64 = 86_400;

fn schedule(next_at: Option<Timestamp>) -> Schedule {
    Schedule {
        id: ScheduleId::generate(),
        skill: "brief".to_owned(),
        input: INPUT.to_owned(),
        recurrence: Recurrence::parse("0 0 * * *", "Europe/Berlin").unwrap(),
        catch_up: CatchUp::Skip,
        next_at,
        last: None,
        created_at: at(0),
        updated_at: at(0),
    }
}

async fn list(db: &Database, user: UserId) -> Vec<Schedule> {
    ScheduleStore::list(&open_store(db), user).await.unwrap()
}

/// Stores a schedule.
pub(crate) async fn create_schedule(
    db: &Database,
    user: UserId,
    next_at: Option<Timestamp>,
) -> Schedule {
    let new = schedule(next_at);
    let created = ScheduleStore::create(&open_store(db), user, new.clone(), 20).await.unwrap();
    assert_eq!(created, ScheduleCreationOutcome::Done);
    new
}

async fn due(db: &Database, now: Timestamp) -> Vec<DueSchedule> {
    open_store(db).find_due(now, 10).await.unwrap()
}

/// Returns the start of a due schedule.
fn start(due: &DueSchedule, assignment: Result<NewAssignment, SkipReason>) -> ScheduleStart {
    let next_at = Some(due.due_at + Duration::from_hours(24));
    ScheduleStart { schedule: due.id, due_at: due.due_at, next_at, assignment }
}

async fn a_schedule_is_stored_changed_and_deleted_by_its_user_alone(db: Database) {
    let user = person(&db).await;
    let other = person(&db).await;
    let stored = create_schedule(&db, user, Some(at(DAY))).await;
    assert_eq!(list(&db, user).await, std::slice::from_ref(&stored));
    assert!(list(&db, other).await.is_empty());

    let changed = Schedule {
        input: r#"{"schemaVersion":1,"prompt":"Else."}"#.to_owned(),
        recurrence: Recurrence::parse("5 9 * * MON", "UTC").unwrap(),
        catch_up: CatchUp::Once,
        next_at: None,
        created_at: at(9),
        updated_at: at(9),
        ..stored.clone()
    };
    let store = open_store(&db);
    assert_eq!(ScheduleStore::update(&store, other, changed.clone()).await.unwrap(), None);
    let updated = ScheduleStore::update(&store, user, changed.clone()).await.unwrap();
    let expected = Schedule { created_at: at(0), ..changed };
    assert_eq!(updated.as_ref(), Some(&expected));
    assert_eq!(list(&db, user).await, [expected]);

    assert!(!ScheduleStore::delete(&store, other, stored.id).await.unwrap());
    assert!(ScheduleStore::delete(&store, user, stored.id).await.unwrap());
    assert!(!ScheduleStore::delete(&store, user, stored.id).await.unwrap());
    assert!(list(&db, user).await.is_empty());
}

async fn concurrent_creations_stay_within_the_limit(db: Database) {
    let user = person(&db).await;
    let store = open_store(&db);
    let create = |_| ScheduleStore::create(&store, user, schedule(None), 3);

    let created = join_all((0..8).map(create)).await;

    let done = created.iter().filter(|it| matches!(it, Ok(ScheduleCreationOutcome::Done))).count();
    assert_eq!(done, 3, "{created:?}");
    assert_eq!(list(&db, user).await.len(), 3, "{created:?}");
    let gone = ScheduleStore::create(&store, UserId::generate(), schedule(None), 3).await;
    assert_eq!(gone.unwrap(), ScheduleCreationOutcome::Gone);
}

async fn only_schedules_whose_time_has_come_are_due(db: Database) {
    let user = person(&db).await;
    let later = create_schedule(&db, user, Some(at(2 * DAY))).await;
    let first = create_schedule(&db, user, Some(at(DAY))).await;
    create_schedule(&db, user, None).await;

    assert!(due(&db, at(DAY - 1)).await.is_empty());
    let now = due(&db, at(DAY)).await;
    assert_eq!(now.len(), 1);
    assert_eq!(now[0].id, first.id);
    assert_eq!(now[0].user, user);
    assert_eq!(now[0].due_at, at(DAY));
    assert_eq!(now[0].catch_up, CatchUp::Skip);
    assert_eq!(now[0].input.as_deref(), Some(INPUT));
    assert_eq!(now[0].recurrence, first.recurrence);
    let ids: Vec<_> = due(&db, at(3 * DAY)).await.iter().map(|it| it.id).collect();
    assert_eq!(ids, [first.id, later.id]);
}

async fn one_of_concurrent_starts_hands_the_assignment_over(db: Database) {
    let user = person(&db).await;
    let store = open_store(&db);
    create_schedule(&db, user, Some(at(DAY))).await;
    let due_now = due(&db, at(DAY)).await;
    let start_once = |_| store.start(start(&due_now[0], Ok(assignment(user, at(DAY)))), 10);

    let results = join_all((0..8).map(start_once)).await;

    let outcomes: Vec<_> = results.into_iter().map(Result::unwrap).collect();
    let mut done = outcomes.iter().filter_map(|it| match it {
        ScheduleStartOutcome::Done(id) => Some(*id),
        _ => None,
    });
    let id = done.next().unwrap();
    assert_eq!(done.next(), None, "{outcomes:?}");
    let details = load(&db, user, id).await;
    assert_eq!(details.assignment.status, AssignmentStatus::Queued);
    let stored = &list(&db, user).await[0];
    assert_eq!(stored.next_at, Some(at(2 * DAY)));
    assert_eq!(stored.last, Some(LastStart { due_at: at(DAY), outcome: Ok(id) }));
    let worker = live_worker(&db, at(DAY)).await;
    assert_eq!(claim(&db, worker, at(DAY)).await.unwrap().claim.id, id);
    assert!(due(&db, at(DAY)).await.is_empty());
}

async fn a_schedule_that_hands_nothing_over_has_its_reason(db: Database) {
    let user = person(&db).await;
    let store = open_store(&db);
    create_schedule(&db, user, Some(at(DAY))).await;
    queue_assignment(&db, user, 0).await;

    let now = due(&db, at(DAY)).await.remove(0);
    let full = store.start(start(&now, Ok(assignment(user, at(DAY)))), 1).await.unwrap();
    let reason = list(&db, user).await[0].last.unwrap().outcome.unwrap_err();
    assert_eq!(full, ScheduleStartOutcome::Skipped);
    assert_eq!(reason, SkipReason::TooManyAssignments);

    let now = due(&db, at(2 * DAY)).await.remove(0);
    let missed = store.start(start(&now, Err(SkipReason::Missed)), 1).await.unwrap();
    let last = list(&db, user).await[0].last.unwrap();
    assert_eq!(missed, ScheduleStartOutcome::Skipped);
    assert_eq!(last, LastStart { due_at: at(2 * DAY), outcome: Err(SkipReason::Missed) });

    let now = due(&db, at(3 * DAY)).await.remove(0);
    ScheduleStore::delete(&store, user, now.id).await.unwrap();
    let deleted = store.start(start(&now, Ok(assignment(user, at(DAY)))), 10).await.unwrap();
    assert_eq!(deleted, ScheduleStartOutcome::Lost);
}

async fn an_unreadable_input_delays_no_other(db: Database) {
    let user = person(&db).await;
    create_schedule(&db, user, Some(at(DAY))).await;
    execute(&db, "UPDATE assignment_schedules SET input = '1'").await;
    let good = create_schedule(&db, user, Some(at(DAY + 1))).await;

    let now = due(&db, at(2 * DAY)).await;

    assert_eq!(now.len(), 2);
    assert_eq!(now[0].input.as_deref(), None);
    assert_eq!(now[1].id, good.id);
    let inputs: Vec<_> = list(&db, user).await.into_iter().map(|it| it.input).collect();
    assert_eq!(inputs, ["", INPUT]);
}

async fn an_unreadable_schedule_is_switched_off(db: Database) {
    let user = person(&db).await;
    let bad = create_schedule(&db, user, Some(at(DAY))).await;
    execute(&db, "UPDATE assignment_schedules SET cron = 'of a newer version'").await;
    let good = create_schedule(&db, user, Some(at(DAY))).await;

    let now = due(&db, at(DAY)).await;

    assert_eq!(now.iter().map(|it| it.id).collect::<Vec<_>>(), [good.id]);
    assert_eq!(list(&db, user).await.len(), 1);
    execute(&db, "UPDATE assignment_schedules SET cron = '0 0 * * *'").await;
    let off = list(&db, user).await.into_iter().find(|it| it.id == bad.id).unwrap();
    let outcome = Err(SkipReason::Unreadable);
    assert_eq!(off.next_at, None);
    assert_eq!(off.last, Some(LastStart { due_at: at(DAY), outcome }));
}

async fn schedules_of_all_users_are_listed_by_page(db: Database) {
    let user = person(&db).await;
    let other = person(&db).await;
    let first = create_schedule(&db, user, Some(at(DAY))).await;
    let second = create_schedule(&db, other, None).await;
    let third = create_schedule(&db, user, None).await;
    let store = open_store(&db);
    let now = due(&db, at(DAY)).await.remove(0);
    store.start(start(&now, Err(SkipReason::Missed)), 1).await.unwrap();
    execute(&db, "UPDATE assignment_schedules SET cron = 'of a newer version'").await;
    let page = async |user, after| {
        ScheduleStore::page(&store, user, PageRequest { after, limit: 2 }).await.unwrap()
    };

    let newest = page(None, None).await;
    let after = Cursor { at: newest[1].created_at, id: newest[1].id.0 };
    let rest = page(None, Some(after)).await;
    let own = page(Some(user), None).await;

    assert_eq!([newest[0].id, newest[1].id], [third.id, second.id]);
    assert_eq!([newest[0].user, newest[1].user], [user, other]);
    assert_eq!([own[0].id, own[1].id], [third.id, first.id]);
    assert_eq!(rest, [own[1].clone()]);
    assert_eq!(rest[0].cron, "of a newer version");
    assert_eq!(rest[0].time_zone, "Europe/Berlin");
    assert_eq!(rest[0].next_at, Some(at(2 * DAY)));
    let outcome = Err(SkipReason::Missed);
    assert_eq!(rest[0].last, Some(LastStart { due_at: at(DAY), outcome }));
}
