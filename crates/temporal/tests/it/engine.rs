//! Starts and ends of workflows without a worker.

use pia_assignments::{StopMode, WorkflowEngine};
use pia_kernel::AssignmentId;
use pia_storage::Database;

use crate::scene::{Scene, engine_in, server};

pia_testkit::contract! {
    a_workflow_is_live_from_its_start_to_its_end,
    an_unknown_workflow_is_not_live_and_is_stopped,
    an_unknown_namespace_is_an_outage,
}

async fn a_workflow_is_live_from_its_start_to_its_end(db: Database) {
    let scene = Scene::on(db).await;
    let id = AssignmentId::generate();

    for _ in 0..2 {
        scene.engine.start(id).await.unwrap();
        assert!(scene.engine.is_live(id).await.unwrap());
    }
    for _ in 0..2 {
        scene.engine.stop(id, StopMode::Terminate).await.unwrap();
        assert!(!scene.engine.is_live(id).await.unwrap());
    }
    // One that was lost is started again.
    scene.engine.start(id).await.unwrap();
    assert!(scene.engine.is_live(id).await.unwrap());
}

async fn an_unknown_workflow_is_not_live_and_is_stopped(db: Database) {
    let scene = Scene::on(db).await;
    let id = AssignmentId::generate();

    assert!(!scene.engine.is_live(id).await.unwrap());
    for mode in [StopMode::Cancel, StopMode::Terminate] {
        scene.engine.stop(id, mode).await.unwrap();
    }
}

async fn an_unknown_namespace_is_an_outage(db: Database) {
    let scene = Scene::on(db).await;
    let id = AssignmentId::generate();
    let engine = engine_in("absent", &server(), &scene.queue);

    assert!(engine.start(id).await.is_err());
    assert!(engine.is_live(id).await.is_err());
    assert!(engine.stop(id, StopMode::Cancel).await.is_err());
}
