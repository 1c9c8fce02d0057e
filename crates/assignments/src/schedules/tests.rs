//! Tests of schedules.

use pia_kernel::OperatorId;
use pia_testkit::ManualClock;

use super::*;
use crate::fakes::{NOW, brief, settings};
use crate::{MockOperatorStore, MockScheduleStore, MockWorkflowEngine, Operator};

const INPUT: &str = r#"{"schemaVersion":1,"prompt":"What is new?"}"#;

/// Time from [`NOW`], which is midnight, to the next time of the schedules.
const UNTIL_NINE: Duration = Duration::from_hours(9);

fn operator() -> Operator {
    Operator {
        id: OperatorId::generate(),
        name: "Colleague".to_owned(),
        skill: brief(),
        is_custom: false,
        is_active: true,
        groups: Vec::new(),
        webhook_url: None,
        updated_at: NOW,
    }
}

/// Creates the service for users with this operator, which starts this number of
/// workflows.
fn schedules_with(
    store: MockScheduleStore,
    granted: Option<Operator>,
    workflow_count: usize,
) -> Schedules {
    let mut operators = MockOperatorStore::new();
    let mut engine = MockWorkflowEngine::new();
    let granted_operators = Vec::from_iter(granted);
    operators.expect_list_granted().returning(move |_| Ok(granted_operators.clone()));
    engine.expect_start().times(workflow_count).returning(|_| Ok(()));
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

fn due_schedule(delay: Duration, catch_up: CatchUp) -> DueSchedule {
    DueSchedule {
        id: ScheduleId::generate(),
        user: UserId::generate(),
        skill: "brief".to_owned(),
        input: Some(INPUT.to_owned()),
        recurrence: Recurrence::parse("0 9 * * *", "UTC").unwrap(),
        catch_up,
        due_at: NOW - delay,
    }
}

/// Starts one schedule that is due, and returns the start that was stored.
async fn start_one(due_schedule: DueSchedule, granted: Option<Operator>) -> ScheduleStart {
    let mut store = MockScheduleStore::new();
    let stored_start: Arc<std::sync::Mutex<Option<ScheduleStart>>> = Arc::default();
    let recorder = Arc::clone(&stored_start);
    store.expect_find_due().returning(move |_, _| Ok(vec![due_schedule.clone()]));
    store.expect_start().once().returning(move |start, max| {
        assert_eq!(max, 2);
        let assignment = start.assignment.as_ref().map(|it| it.id);
        *recorder.lock().unwrap() = Some(start.clone());
        Ok(assignment.map_or(ScheduleStartOutcome::Skipped, ScheduleStartOutcome::Done))
    });
    let workflow_count = usize::from(granted.is_some());

    schedules_with(store, granted, workflow_count).start_due().await.unwrap();

    let start = stored_start.lock().unwrap().take();
    start.unwrap()
}

#[tokio::test]
async fn a_schedule_has_its_next_time_while_it_is_active() {
    let mut store = MockScheduleStore::new();
    store.expect_create().returning(|_, _, _| Ok(ScheduleCreationOutcome::Done));
    store.expect_update().returning(|_, schedule| Ok(Some(schedule)));
    let schedules = schedules_with(store, Some(operator()), 0);

    let created = schedules.create(UserId::generate(), draft()).await.unwrap();
    let inactive = ScheduleDraft { is_active: false, ..draft() };
    let updated = schedules.update(UserId::generate(), created.id, inactive).await.unwrap();

    assert_eq!(created.skill, "brief");
    assert_eq!(created.last, None);
    assert_eq!(created.next_at, Some(NOW + UNTIL_NINE));
    assert_eq!(updated.id, created.id);
    assert_eq!(updated.next_at, None);
}

#[tokio::test]
async fn a_schedule_whose_assignments_would_be_refused_is_refused() {
    let user = UserId::generate();
    let without_grant = schedules_with(MockScheduleStore::new(), None, 0);
    let err = without_grant.create(user, draft()).await.unwrap_err();
    assert!(matches!(err, ScheduleError::Assignment(EnqueueError::SkillNotGranted)));

    let with_grant = schedules_with(MockScheduleStore::new(), Some(operator()), 0);
    let unreadable_draft = ScheduleDraft { input: "{".to_owned(), ..draft() };
    let err = with_grant.create(user, unreadable_draft).await.unwrap_err();
    assert!(matches!(err, ScheduleError::Assignment(EnqueueError::Envelope(_))));

    let draft_without_times = ScheduleDraft { cron: "0 0 30 2 *".to_owned(), ..draft() };
    let err = with_grant.create(user, draft_without_times).await.unwrap_err();
    assert!(matches!(err, ScheduleError::NoTime));

    let mut store = MockScheduleStore::new();
    store.expect_create().returning(|_, _, _| Ok(ScheduleCreationOutcome::TooMany));
    store.expect_update().returning(|_, _| Ok(None));
    let full = schedules_with(store, Some(operator()), 0);
    assert!(matches!(full.create(user, draft()).await, Err(ScheduleError::TooMany)));
    let update_outcome = full.update(user, ScheduleId::generate(), draft()).await;
    assert!(matches!(update_outcome, Err(ScheduleError::NotFound)));
}

#[tokio::test]
async fn a_due_schedule_hands_its_assignment_over() {
    let due = due_schedule(Duration::ZERO, CatchUp::Skip);

    let start = start_one(due.clone(), Some(operator())).await;

    let assignment = start.assignment.unwrap();
    assert_eq!(start.schedule, due.id);
    assert_eq!(start.due_at, due.due_at);
    assert_eq!(start.next_at, Some(NOW + UNTIL_NINE));
    assert_eq!(assignment.user, due.user);
    assert_eq!(assignment.skill, brief());
    assert_eq!(assignment.at, NOW);
    assert_eq!(assignment.input, INPUT);
}

#[tokio::test]
async fn a_missed_time_is_caught_up_once_or_skipped() {
    let day = Duration::from_hours(24);

    let start = start_one(due_schedule(day, CatchUp::Once), Some(operator())).await;
    assert!(start.assignment.is_ok());
    assert_eq!(start.next_at, Some(NOW + UNTIL_NINE));

    let mut store = MockScheduleStore::new();
    let missed_schedule = due_schedule(day, CatchUp::Skip);
    store.expect_find_due().returning(move |_, _| Ok(vec![missed_schedule.clone()]));
    let is_missed = |it: &ScheduleStart| it.assignment == Err(SkipReason::Missed);
    store.expect_start().once().withf(move |it, _| is_missed(it)).returning(|start, _| {
        assert_eq!(start.next_at, Some(NOW + UNTIL_NINE));
        Ok(ScheduleStartOutcome::Skipped)
    });
    schedules_with(store, Some(operator()), 0).start_due().await.unwrap();
}

#[tokio::test]
async fn a_schedule_without_a_granted_skill_goes_on() {
    let start = start_one(due_schedule(Duration::ZERO, CatchUp::Once), None).await;

    assert_eq!(start.assignment, Err(SkipReason::SkillNotGranted));
    assert!(start.next_at.is_some());
}

#[tokio::test]
async fn a_schedule_that_fails_delays_no_other() {
    let mut store = MockScheduleStore::new();
    let due = [(); 2].map(|()| due_schedule(Duration::ZERO, CatchUp::Once));
    let failing_id = due[0].id;
    store.expect_find_due().returning(move |_, _| Ok(due.to_vec()));
    store.expect_start().times(2).returning(move |start, _| {
        if start.schedule == failing_id {
            return Err(Unavailable::new("database", "down"));
        }
        Ok(ScheduleStartOutcome::Done(start.assignment.unwrap().id))
    });

    schedules_with(store, Some(operator()), 1).start_due().await.unwrap();
}

#[tokio::test]
async fn a_schedule_can_be_switched_off_without_its_skill() {
    let mut store = MockScheduleStore::new();
    store.expect_update().returning(|_, schedule| Ok(Some(schedule)));
    let schedules = schedules_with(store, None, 0);
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

    schedules_with(store, Some(operator()), 0).start_due().await.unwrap();
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
