//! Tests of schedules.

use pia_kernel::OperatorId;
use pia_testkit::ManualClock;

use super::*;
use crate::fakes::{NOW, brief, settings};
use crate::{MockOperatorStore, MockScheduleStore, MockWorkflowEngine, Operator};

const INPUT: &str = r#"{"schemaVersion":1,"prompt":"What is new?"}"#;

fn schedules_with(store: MockScheduleStore, is_granted: bool, started: usize) -> Schedules {
    let mut operators = MockOperatorStore::new();
    let mut engine = MockWorkflowEngine::new();
    let operator = Operator {
        id: OperatorId::generate(),
        name: "Colleague".to_owned(),
        skill: brief(),
        is_custom: false,
        is_active: true,
        groups: Vec::new(),
        webhook_url: None,
        updated_at: NOW,
    };
    let granted = Vec::from_iter(is_granted.then_some(operator));
    operators.expect_list_granted().returning(move |_| Ok(granted.clone()));
    engine.expect_start().times(started).returning(|_| Ok(()));
    Schedules {
        store: Arc::new(store),
        operators: Arc::new(operators),
        engine: Arc::new(engine),
        settings: settings(),
        clock: Arc::new(ManualClock::new(NOW)),
    }
}

fn draft() -> ScheduleDraft {
    ScheduleDraft {
        skill: "BRIEF".to_owned(),
        input: INPUT.to_owned(),
        cron: "0 9 * * *".to_owned(),
        time_zone: "UTC".to_owned(),
        catch_up: CatchUp::Once,
        is_active: true,
    }
}

fn due_schedule(late: Duration, catch_up: CatchUp) -> DueSchedule {
    DueSchedule {
        id: ScheduleId::generate(),
        user: UserId::generate(),
        skill: "brief".to_owned(),
        input: Some(INPUT.to_owned()),
        recurrence: Recurrence::parse("0 9 * * *", "UTC").unwrap(),
        catch_up,
        due_at: NOW - late,
    }
}

/// Starts one schedule that is due, and returns the start that was stored.
async fn start_one(due: DueSchedule, is_granted: bool) -> ScheduleStart {
    let mut store = MockScheduleStore::new();
    let stored_start: Arc<std::sync::Mutex<Option<ScheduleStart>>> = Arc::default();
    let recorder = Arc::clone(&stored_start);
    store.expect_find_due().returning(move |_, _| Ok(vec![due.clone()]));
    store.expect_start().once().returning(move |start, max| {
        assert_eq!(max, 2);
        let assignment = start.assignment.as_ref().map(|it| it.id);
        *recorder.lock().unwrap() = Some(start.clone());
        Ok(assignment.map_or(ScheduleStartOutcome::Skipped, ScheduleStartOutcome::Done))
    });
    let workflows = usize::from(is_granted);

    schedules_with(store, is_granted, workflows).start_due().await.unwrap();

    let start = stored_start.lock().unwrap().take();
    start.unwrap()
}

#[tokio::test]
async fn a_schedule_has_its_next_time_while_it_is_active() {
    let mut store = MockScheduleStore::new();
    store.expect_create().returning(|_, _, _| Ok(ScheduleCreationOutcome::Done));
    store.expect_update().returning(|_, schedule| Ok(Some(schedule)));
    let schedules = schedules_with(store, true, 0);

    let created = schedules.create(UserId::generate(), draft()).await.unwrap();
    let inactive = ScheduleDraft { is_active: false, ..draft() };
    let updated = schedules.update(UserId::generate(), created.id, inactive).await.unwrap();

    assert_eq!(created.skill, "brief");
    assert_eq!(created.last, None);
    assert_eq!(created.next_at, Some(NOW + Duration::from_hours(9)));
    assert_eq!(updated.id, created.id);
    assert_eq!(updated.next_at, None);
}

#[tokio::test]
async fn a_schedule_whose_assignments_would_be_refused_is_refused() {
    let user = UserId::generate();
    let ungranted = schedules_with(MockScheduleStore::new(), false, 0);
    let err = ungranted.create(user, draft()).await.unwrap_err();
    assert!(matches!(err, ScheduleError::Assignment(EnqueueError::SkillNotGranted)));

    let granted = schedules_with(MockScheduleStore::new(), true, 0);
    let unreadable = ScheduleDraft { input: "{".to_owned(), ..draft() };
    let err = granted.create(user, unreadable).await.unwrap_err();
    assert!(matches!(err, ScheduleError::Assignment(EnqueueError::Envelope(_))));

    let never = ScheduleDraft { cron: "0 0 30 2 *".to_owned(), ..draft() };
    let err = granted.create(user, never).await.unwrap_err();
    assert!(matches!(err, ScheduleError::NoTime));

    let mut store = MockScheduleStore::new();
    store.expect_create().returning(|_, _, _| Ok(ScheduleCreationOutcome::TooMany));
    store.expect_update().returning(|_, _| Ok(None));
    let full = schedules_with(store, true, 0);
    assert!(matches!(full.create(user, draft()).await, Err(ScheduleError::TooMany)));
    let unknown = full.update(user, ScheduleId::generate(), draft()).await;
    assert!(matches!(unknown, Err(ScheduleError::NotFound)));
}

#[tokio::test]
async fn a_due_schedule_hands_its_assignment_over() {
    let due = due_schedule(Duration::ZERO, CatchUp::Skip);

    let start = start_one(due.clone(), true).await;

    let assignment = start.assignment.unwrap();
    assert_eq!(start.schedule, due.id);
    assert_eq!(start.due_at, due.due_at);
    assert_eq!(start.next_at, Some(NOW + Duration::from_hours(9)));
    assert_eq!(assignment.user, due.user);
    assert_eq!(assignment.skill, brief());
    assert_eq!(assignment.at, NOW);
    assert_eq!(assignment.input, INPUT);
}

#[tokio::test]
async fn a_missed_time_is_caught_up_once_or_skipped() {
    let day = Duration::from_hours(24);

    let caught_up = start_one(due_schedule(day, CatchUp::Once), true).await;
    assert!(caught_up.assignment.is_ok());
    assert_eq!(caught_up.next_at, Some(NOW + Duration::from_hours(9)));

    let mut store = MockScheduleStore::new();
    let late = due_schedule(day, CatchUp::Skip);
    store.expect_find_due().returning(move |_, _| Ok(vec![late.clone()]));
    let is_missed = |it: &ScheduleStart| it.assignment == Err(SkipReason::Missed);
    store.expect_start().once().withf(move |it, _| is_missed(it)).returning(|start, _| {
        assert_eq!(start.next_at, Some(NOW + Duration::from_hours(9)));
        Ok(ScheduleStartOutcome::Skipped)
    });
    schedules_with(store, true, 0).start_due().await.unwrap();
}

#[tokio::test]
async fn a_schedule_without_a_granted_skill_goes_on() {
    let start = start_one(due_schedule(Duration::ZERO, CatchUp::Once), false).await;

    assert_eq!(start.assignment, Err(SkipReason::SkillNotGranted));
    assert!(start.next_at.is_some());
}

#[tokio::test]
async fn a_schedule_that_fails_delays_no_other() {
    let mut store = MockScheduleStore::new();
    let due = [(); 2].map(|()| due_schedule(Duration::ZERO, CatchUp::Once));
    let first = due[0].id;
    store.expect_find_due().returning(move |_, _| Ok(due.to_vec()));
    store.expect_start().times(2).returning(move |start, _| {
        if start.schedule == first {
            return Err(Unavailable::new("database", "down"));
        }
        Ok(ScheduleStartOutcome::Done(start.assignment.unwrap().id))
    });

    schedules_with(store, true, 1).start_due().await.unwrap();
}

#[tokio::test]
async fn a_schedule_can_be_switched_off_without_its_skill() {
    let mut store = MockScheduleStore::new();
    store.expect_update().returning(|_, schedule| Ok(Some(schedule)));
    let schedules = schedules_with(store, false, 0);
    let inactive = ScheduleDraft { is_active: false, ..draft() };

    let updated =
        schedules.update(UserId::generate(), ScheduleId::generate(), inactive).await.unwrap();

    assert_eq!(updated.skill, "brief");
    assert_eq!(updated.next_at, None);
}

#[tokio::test]
async fn a_start_that_another_process_made_starts_no_workflow() {
    let mut store = MockScheduleStore::new();
    let due = due_schedule(Duration::ZERO, CatchUp::Once);
    store.expect_find_due().returning(move |_, _| Ok(vec![due.clone()]));
    store.expect_start().once().returning(|_, _| Ok(ScheduleStartOutcome::Lost));

    schedules_with(store, true, 0).start_due().await.unwrap();
}

#[test]
fn reasons_have_different_codes() {
    for code in
        ["missed", "too_many_assignments", "skill_not_granted", "input_refused", "unreadable"]
    {
        assert_eq!(SkipReason::from_code(code).unwrap().code(), code);
    }
    assert_eq!(SkipReason::from_code("other"), None);
}
