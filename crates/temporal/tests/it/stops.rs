//! Ends of runs by others than their worker.

use std::sync::Arc;
use std::time::Duration;

use pia_assignments::{
    AssignmentSettings, AssignmentStatus, FailureCode, StepError, StopMode, WorkflowEngine,
};
use pia_storage::Database;

use crate::scene::{Scene, kinds, until};
use crate::script::Script;

pia_testkit::contract! {
    a_cancelled_or_terminated_step_counts_as_abandoned,
    a_run_that_waits_is_cancelled,
    a_run_that_takes_too_long_ends_with_its_workflow,
    an_end_races_with_steps,
    a_lost_start_is_repeated,
}

async fn a_cancelled_or_terminated_step_counts_as_abandoned(db: Database) {
    let scene = Scene::on(db).await;
    let script = Arc::new(Script::silent());
    let worker = scene.worker(&script);

    for (mode, round) in [(StopMode::Cancel, 1), (StopMode::Terminate, 2)] {
        let id = scene.started().await;
        until(async || (script.called() == round).then_some(())).await;

        let is_ended = match mode {
            StopMode::Cancel => scene.cancel(id).await,
            StopMode::Terminate => scene.terminate(id).await,
        };
        assert!(is_ended);
        scene.engine.stop(id, mode).await.unwrap();
        scene.not_live(id).await;
        script.permit(1);

        let details = until(async || {
            let details = scene.load(id).await;
            (details.assignment.tokens_abandoned > 0).then_some(details)
        })
        .await;
        assert_eq!(details.assignment.tokens_spent, 0);
        assert_eq!(details.assignment.tokens_abandoned, 10);
        assert_eq!(kinds(&details).len(), 3);
    }
    assert_eq!(script.called(), 2);
    worker.stop().await;
}

async fn a_run_that_waits_is_cancelled(db: Database) {
    let scene = Scene::on(db).await;
    let retry_after = Some(Duration::from_secs(50));
    let script = Arc::new(Script::new(1_000, move |_| Err(StepError::Busy { retry_after })));
    let worker = scene.worker(&script);
    let id = scene.started().await;
    until(async || (script.called() == 1).then_some(())).await;

    assert!(scene.cancel(id).await);
    scene.engine.stop(id, StopMode::Cancel).await.unwrap();

    scene.not_live(id).await;
    assert_eq!(scene.load(id).await.assignment.status, AssignmentStatus::Cancelled);
    worker.stop().await;
}

async fn a_run_that_takes_too_long_ends_with_its_workflow(db: Database) {
    let scene = Scene::on(db).await;
    let script = Arc::new(Script::silent());
    let worker = scene.worker(&script);
    let id = scene.started().await;
    until(async || (script.called() == 1).then_some(())).await;

    let wall_clock = Duration::from_millis(1);
    let upkeep = scene.upkeep(AssignmentSettings { wall_clock, ..AssignmentSettings::default() });
    upkeep.expire().await.unwrap();

    assert!(!scene.engine.is_live(id).await.unwrap());
    let code = FailureCode::WallClockExceeded.name();
    assert_eq!(scene.load(id).await.assignment.error_code.as_deref(), Some(code));
    script.permit(1);
    worker.stop().await;
}

async fn an_end_races_with_steps(db: Database) {
    let scene = Scene::on(db).await;
    let script = Arc::new(Script::answering());
    let workers = [(); 2].map(|()| scene.worker(&script));
    for round in 0..12 {
        let called = script.called();
        let id = scene.started().await;
        until(async || (script.called() - called >= round % 4).then_some(())).await;

        let (is_ended, mode) = match round % 2 {
            0 => (scene.cancel(id).await, StopMode::Cancel),
            _ => (scene.terminate(id).await, StopMode::Terminate),
        };
        scene.engine.stop(id, mode).await.unwrap();

        let details = scene.ended(id).await;
        let is_completed = details.assignment.status == AssignmentStatus::Completed;
        assert_ne!(is_ended, is_completed);
        let ends = ["cancelled", "terminated", "completed", "failed"];
        assert_eq!(kinds(&details).iter().filter(|it| ends.contains(it)).count(), 1);
        scene.not_live(id).await;
    }
    for worker in workers {
        worker.stop().await;
    }
}

async fn a_lost_start_is_repeated(db: Database) {
    let scene = Scene::on(db).await;
    let script = Arc::new(Script::answering());
    let worker = scene.worker(&script);
    let id = scene.queued().await;

    let queued_grace = Duration::ZERO;
    let settings = AssignmentSettings { queued_grace, ..AssignmentSettings::default() };
    scene.upkeep(settings).reconcile().await.unwrap();

    assert_eq!(scene.ended(id).await.assignment.status, AssignmentStatus::Completed);
    worker.stop().await;
}
