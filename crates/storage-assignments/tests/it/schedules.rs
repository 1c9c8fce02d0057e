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
    INPUT, assignment, at, claim, create_person, execute, live_worker, load, open_store,
    queue_assignment,
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
    let new_schedule = schedule(next_at);
    let outcome = ScheduleStore::create(&open_store(db), user, new_schedule.clone(), 20).await;
    assert_eq!(outcome.unwrap(), ScheduleCreationOutcome::Done);
    new_schedule
}

async fn find_due(db: &Database, now: Timestamp) -> Vec<DueSchedule> {
    open_store(db).find_due(now, 10).await.unwrap()
}

/// Returns the start of a due schedule.
fn start(due: &DueSchedule, assignment: Result<NewAssignment, SkipReason>) -> ScheduleStart {
    let next_at = Some(due.due_at + Duration::from_hours(24));
    ScheduleStart { schedule: due.id, due_at: due.due_at, next_at, assignment }
}

async fn a_schedule_is_stored_changed_and_deleted_by_its_user_alone(db: Database) {
    let ada = create_person(&db).await;
    let bob = create_person(&db).await;
    let schedule = create_schedule(&db, ada, Some(at(DAY))).await;
    assert_eq!(list(&db, ada).await, std::slice::from_ref(&schedule));
    assert!(list(&db, bob).await.is_empty());

    let change = Schedule {
        input: r#"{"schemaVersion":1,"prompt":"Else."}"#.to_owned(),
        recurrence: Recurrence::parse("5 9 * * MON", "UTC").unwrap(),
        catch_up: CatchUp::Once,
        next_at: None,
        created_at: at(9),
        updated_at: at(9),
        ..schedule.clone()
    };
    let store = open_store(&db);

    assert_eq!(ScheduleStore::update(&store, bob, change.clone()).await.unwrap(), None);
    let updated = ScheduleStore::update(&store, ada, change.clone()).await.unwrap();
    let expected = Schedule { created_at: at(0), ..change };
    assert_eq!(updated.as_ref(), Some(&expected));
    assert_eq!(list(&db, ada).await, [expected]);

    assert!(!ScheduleStore::delete(&store, bob, schedule.id).await.unwrap());
    assert!(ScheduleStore::delete(&store, ada, schedule.id).await.unwrap());
    assert!(!ScheduleStore::delete(&store, ada, schedule.id).await.unwrap());
    assert!(list(&db, ada).await.is_empty());
}

async fn concurrent_creations_stay_within_the_limit(db: Database) {
    let user = create_person(&db).await;
    let store = open_store(&db);
    let create = |_| ScheduleStore::create(&store, user, schedule(None), 3);

    let outcomes = join_all((0..8).map(create)).await;

    let created_count =
        outcomes.iter().filter(|it| matches!(it, Ok(ScheduleCreationOutcome::Done))).count();
    assert_eq!(created_count, 3, "{outcomes:?}");
    assert_eq!(list(&db, user).await.len(), 3, "{outcomes:?}");
    let of_unknown_user =
        ScheduleStore::create(&store, UserId::generate(), schedule(None), 3).await;
    assert_eq!(of_unknown_user.unwrap(), ScheduleCreationOutcome::Gone);
}

async fn only_schedules_whose_time_has_come_are_due(db: Database) {
    let user = create_person(&db).await;
    let due_on_day_2 = create_schedule(&db, user, Some(at(2 * DAY))).await;
    let due_on_day_1 = create_schedule(&db, user, Some(at(DAY))).await;
    create_schedule(&db, user, None).await;

    assert!(find_due(&db, at(DAY - 1)).await.is_empty());

    let due_schedules = find_due(&db, at(DAY)).await;
    assert_eq!(due_schedules.len(), 1);
    assert_eq!(due_schedules[0].id, due_on_day_1.id);
    assert_eq!(due_schedules[0].user, user);
    assert_eq!(due_schedules[0].due_at, at(DAY));
    assert_eq!(due_schedules[0].catch_up, CatchUp::Skip);
    assert_eq!(due_schedules[0].input.as_deref(), Some(INPUT));
    assert_eq!(due_schedules[0].recurrence, due_on_day_1.recurrence);

    let ids: Vec<_> = find_due(&db, at(3 * DAY)).await.iter().map(|it| it.id).collect();
    assert_eq!(ids, [due_on_day_1.id, due_on_day_2.id]);
}

async fn one_of_concurrent_starts_hands_the_assignment_over(db: Database) {
    let user = create_person(&db).await;
    let store = open_store(&db);
    create_schedule(&db, user, Some(at(DAY))).await;
    let due_now = find_due(&db, at(DAY)).await;
    let start_once = |_| store.start(start(&due_now[0], Ok(assignment(user, at(DAY)))), 10);

    let results = join_all((0..8).map(start_once)).await;

    let outcomes: Vec<_> = results.into_iter().map(Result::unwrap).collect();
    let mut started_ids = outcomes.iter().filter_map(|it| match it {
        ScheduleStartOutcome::Done(id) => Some(*id),
        _ => None,
    });
    let id = started_ids.next().unwrap();
    assert_eq!(started_ids.next(), None, "{outcomes:?}");

    let details = load(&db, user, id).await;
    assert_eq!(details.assignment.status, AssignmentStatus::Queued);
    let schedule = &list(&db, user).await[0];
    assert_eq!(schedule.next_at, Some(at(2 * DAY)));
    assert_eq!(schedule.last, Some(LastStart { due_at: at(DAY), outcome: Ok(id) }));
    let worker = live_worker(&db, at(DAY)).await;
    assert_eq!(claim(&db, worker, at(DAY)).await.unwrap().claim.id, id);
    assert!(find_due(&db, at(DAY)).await.is_empty());
}

async fn a_schedule_that_hands_nothing_over_has_its_reason(db: Database) {
    let user = create_person(&db).await;
    let store = open_store(&db);
    create_schedule(&db, user, Some(at(DAY))).await;
    queue_assignment(&db, user, 0).await;

    let due_schedule = find_due(&db, at(DAY)).await.remove(0);
    let full = store.start(start(&due_schedule, Ok(assignment(user, at(DAY)))), 1).await.unwrap();
    let reason = list(&db, user).await[0].last.unwrap().outcome.unwrap_err();
    assert_eq!(full, ScheduleStartOutcome::Skipped);
    assert_eq!(reason, SkipReason::TooManyAssignments);

    let due_schedule = find_due(&db, at(2 * DAY)).await.remove(0);
    let missed = store.start(start(&due_schedule, Err(SkipReason::Missed)), 1).await.unwrap();
    let last = list(&db, user).await[0].last.unwrap();
    assert_eq!(missed, ScheduleStartOutcome::Skipped);
    assert_eq!(last, LastStart { due_at: at(2 * DAY), outcome: Err(SkipReason::Missed) });

    let due_schedule = find_due(&db, at(3 * DAY)).await.remove(0);
    ScheduleStore::delete(&store, user, due_schedule.id).await.unwrap();
    let start_outcome =
        store.start(start(&due_schedule, Ok(assignment(user, at(DAY)))), 10).await.unwrap();
    assert_eq!(start_outcome, ScheduleStartOutcome::Lost);
}

async fn an_unreadable_input_delays_no_other(db: Database) {
    let user = create_person(&db).await;
    create_schedule(&db, user, Some(at(DAY))).await;
    execute(&db, "UPDATE assignment_schedules SET input = '1'").await;
    let readable_schedule = create_schedule(&db, user, Some(at(DAY + 1))).await;

    let due_schedules = find_due(&db, at(2 * DAY)).await;

    assert_eq!(due_schedules.len(), 2);
    assert_eq!(due_schedules[0].input.as_deref(), None);
    assert_eq!(due_schedules[1].id, readable_schedule.id);
    let inputs: Vec<_> = list(&db, user).await.into_iter().map(|it| it.input).collect();
    assert_eq!(inputs, ["", INPUT]);
}

async fn an_unreadable_schedule_is_switched_off(db: Database) {
    let user = create_person(&db).await;
    let unreadable_schedule = create_schedule(&db, user, Some(at(DAY))).await;
    execute(&db, "UPDATE assignment_schedules SET cron = 'of a newer version'").await;
    let readable_schedule = create_schedule(&db, user, Some(at(DAY))).await;

    let due_schedules = find_due(&db, at(DAY)).await;

    assert_eq!(due_schedules.iter().map(|it| it.id).collect::<Vec<_>>(), [readable_schedule.id]);
    assert_eq!(list(&db, user).await.len(), 1);

    execute(&db, "UPDATE assignment_schedules SET cron = '0 0 * * *'").await;
    let switched_off =
        list(&db, user).await.into_iter().find(|it| it.id == unreadable_schedule.id).unwrap();
    let outcome = Err(SkipReason::Unreadable);
    assert_eq!(switched_off.next_at, None);
    assert_eq!(switched_off.last, Some(LastStart { due_at: at(DAY), outcome }));
}

async fn schedules_of_all_users_are_listed_by_page(db: Database) {
    let ada = create_person(&db).await;
    let bob = create_person(&db).await;
    let first_of_ada = create_schedule(&db, ada, Some(at(DAY))).await;
    let schedule_of_bob = create_schedule(&db, bob, None).await;
    let second_of_ada = create_schedule(&db, ada, None).await;
    let store = open_store(&db);
    let due_schedule = find_due(&db, at(DAY)).await.remove(0);
    store.start(start(&due_schedule, Err(SkipReason::Missed)), 1).await.unwrap();
    execute(&db, "UPDATE assignment_schedules SET cron = 'of a newer version'").await;
    let page = async |user, after| {
        ScheduleStore::page(&store, user, PageRequest { after, limit: 2 }).await.unwrap()
    };

    let newest = page(None, None).await;
    let after = Cursor { at: newest[1].created_at, id: newest[1].id.0 };
    let oldest = page(None, Some(after)).await;
    let own = page(Some(ada), None).await;

    assert_eq!([newest[0].id, newest[1].id], [second_of_ada.id, schedule_of_bob.id]);
    assert_eq!([newest[0].user, newest[1].user], [ada, bob]);
    assert_eq!([own[0].id, own[1].id], [second_of_ada.id, first_of_ada.id]);
    assert_eq!(oldest, [own[1].clone()]);
    assert_eq!(oldest[0].cron, "of a newer version");
    assert_eq!(oldest[0].time_zone, "Europe/Berlin");
    assert_eq!(oldest[0].next_at, Some(at(2 * DAY)));
    let outcome = Err(SkipReason::Missed);
    assert_eq!(oldest[0].last, Some(LastStart { due_at: at(DAY), outcome }));
}
