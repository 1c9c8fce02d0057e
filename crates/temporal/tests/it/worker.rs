//! Runs by one and several workers.

use std::sync::Arc;
use std::time::Duration;

use pia_assignments::{AssignmentStatus, FailureCode, StepError, WorkflowEngine};
use pia_storage::Database;

use crate::scene::{Scene, kinds};
use crate::script::{Script, response};

pia_testkit::contract! {
    a_run_is_advanced_to_its_end,
    each_step_is_executed_once_by_several_workers,
    a_busy_model_is_waited_for,
    attempts_that_fail_at_the_model_are_counted_by_the_run,
    a_stopped_worker_ends_its_step_and_another_continues,
}

async fn a_run_is_advanced_to_its_end(db: Database) {
    let scene = Scene::on(db).await;
    let script = Arc::new(Script::answering());
    let worker = scene.worker(&script);

    let id = scene.started().await;
    scene.engine.start(id).await.unwrap();
    let details = scene.ended(id).await;
    scene.not_live(id).await;

    assert_eq!(details.assignment.status, AssignmentStatus::Completed);
    let expected =
        ["queued", "started", "step", "continued", "step", "continued", "artifact", "completed"];
    assert_eq!(kinds(&details), expected);
    assert_eq!(script.called(), 3);
    assert_eq!(details.assignment.tokens_spent, 30);
    scene.engine.start(id).await.unwrap();
    scene.not_live(id).await;
    assert_eq!(script.called(), 3);
    assert_eq!(scene.load(id).await, details);
    worker.stop().await;
}

async fn each_step_is_executed_once_by_several_workers(db: Database) {
    let scene = Scene::on(db).await;
    let script = Arc::new(Script::answering());
    let workers = [(); 3].map(|()| scene.worker(&script));
    let mut started = Vec::new();
    for _ in 0..20 {
        started.push(scene.started().await);
    }

    for id in started {
        let details = scene.ended(id).await;
        assert_eq!(details.assignment.status, AssignmentStatus::Completed);
        assert_eq!(details.events.len(), 8);
        assert_eq!(details.assignment.tokens_abandoned, 0);
    }
    assert_eq!(script.called(), 60);
    for worker in workers {
        worker.stop().await;
    }
}

async fn a_busy_model_is_waited_for(db: Database) {
    let scene = Scene::on(db).await;
    let script = Arc::new(Script::new(1_000, |call| match call {
        0 => Err(StepError::Busy { retry_after: Some(Duration::from_millis(200)) }),
        _ => Ok(response()),
    }));
    let worker = scene.worker(&script);

    let id = scene.started().await;

    assert_eq!(scene.ended(id).await.assignment.status, AssignmentStatus::Completed);
    assert_eq!(script.called(), 4);
    worker.stop().await;
}

async fn attempts_that_fail_at_the_model_are_counted_by_the_run(db: Database) {
    let scene = Scene::on(db).await;
    let script = Arc::new(Script::new(1_000, |_| {
        let code = FailureCode::UpstreamTimeout;
        Err(StepError::Transient { code, message: "The model did not answer.".to_owned() })
    }));
    let worker = scene.worker(&script);

    let id = scene.started().await;
    let details = scene.ended(id).await;

    let code = FailureCode::UpstreamTimeout.name();
    assert_eq!(details.assignment.error_code.as_deref(), Some(code));
    assert_eq!(script.called(), 3);
    scene.not_live(id).await;
    worker.stop().await;
}

async fn a_stopped_worker_ends_its_step_and_another_continues(db: Database) {
    let scene = Scene::on(db).await;
    let script = Arc::new(Script::silent());
    let first = scene.worker(&script);
    let id = scene.started().await;
    crate::scene::until(async || (script.called() == 1).then_some(())).await;

    tokio::join!(first.stop(), async { script.permit(1) });
    assert_eq!(scene.load(id).await.assignment.step_count, 1);

    script.permit(2);
    let second = scene.worker(&script);
    let details = scene.ended(id).await;
    assert_eq!(script.called(), 3);
    assert_eq!(details.assignment.tokens_spent, 30);
    second.stop().await;
}
