//! Tests of the upkeep of assignments.

use super::*;
use crate::fakes::{NOW, clock, settings};
use crate::{MockRunStore, MockWorkflowEngine, QueuedAssignment};

fn upkeep(store: MockRunStore, engine: MockWorkflowEngine) -> Upkeep {
    Upkeep {
        store: Arc::new(store),
        engine: Arc::new(engine),
        settings: settings(),
        clock: clock(),
    }
}

fn queued_assignment(restarts: u32) -> QueuedAssignment {
    QueuedAssignment { id: AssignmentId::generate(), restarts }
}

#[tokio::test]
async fn a_lost_start_is_repeated_until_the_assignment_fails() {
    let max_restarts = AssignmentSettings::default().max_restarts;
    let live = queued_assignment(0);
    let restartable = queued_assignment(max_restarts - 1);
    let hopeless = queued_assignment(max_restarts);
    let mut store = MockRunStore::new();
    let mut engine = MockWorkflowEngine::new();
    store.expect_queued_before().returning(move |_, _| Ok(vec![live, restartable, hopeless]));
    engine.expect_is_live().returning(move |id| Ok(id == live.id));

    store
        .expect_count_restart()
        .once()
        .withf(move |id| *id == restartable.id)
        .returning(|_| Ok(()));
    engine.expect_start().once().withf(move |id| *id == restartable.id).returning(|_| Ok(()));
    store
        .expect_give_up()
        .once()
        .withf(move |id, failure, _| *id == hopeless.id && failure.code == FailureCode::NotStarted)
        .returning(|_, _, _| Ok(true));

    upkeep(store, engine).reconcile().await.unwrap();
}

#[tokio::test]
async fn runs_that_take_too_long_end() {
    let mut store = MockRunStore::new();
    let mut engine = MockWorkflowEngine::new();
    let limit = AssignmentSettings::default().wall_clock;
    store
        .expect_expire()
        .withf(move |before, _, now| *before == NOW - limit && *now == NOW)
        .returning(|_, _, _| Ok(vec![AssignmentId::generate()]));
    engine.expect_stop().once().returning(|_, mode| {
        assert_eq!(mode, StopMode::Terminate);
        Ok(())
    });

    upkeep(store, engine).expire().await.unwrap();
}

#[tokio::test]
async fn cleaning_up_goes_on_while_there_is_something() {
    let mut store = MockRunStore::new();
    let mut full_batches = 2;
    store.expect_redact().times(3).returning(move |_, _, _, limit| {
        if full_batches == 0 {
            return Ok(0);
        }
        full_batches -= 1;
        Ok(limit as usize)
    });
    store.expect_delete().once().returning(|_, _| Ok(0));

    upkeep(store, MockWorkflowEngine::new()).clean_up().await.unwrap();
}
