//! Outages of the server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pia_assignments::{StopMode, WorkflowEngine};
use pia_kernel::AssignmentId;
use pia_storage::Database;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::scene::{Scene, engine_at, server, until};
use crate::script::Script;

pia_testkit::contract! {
    an_outage_is_reported_and_survived,
    a_server_that_does_not_answer_is_unavailable,
}

/// Forwards connections to the server until dropped.
async fn forward(listener: TcpListener) {
    let mut connections = JoinSet::new();
    loop {
        let (mut client, _) = listener.accept().await.unwrap();
        connections.spawn(async move {
            let mut server = TcpStream::connect(server()).await.unwrap();
            drop(copy_bidirectional(&mut client, &mut server).await);
        });
    }
}

async fn an_outage_is_reported_and_survived(db: Database) {
    let scene = Scene::on(db).await;
    let script = Arc::new(Script::answering());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let engine = engine_at(&address.to_string(), &scene.queue);
    let worker = scene.worker_at(&engine, &script);

    for _ in 0..2 {
        assert!(engine.start(AssignmentId::generate()).await.is_err());
        assert!(engine.is_live(AssignmentId::generate()).await.is_err());

        let listener = TcpListener::bind(address).await.unwrap();
        let working = async {
            let id = scene.queued().await;
            until(async || engine.start(id).await.ok()).await;
            scene.ended(id).await;
        };
        // The connections end with the select.
        tokio::select! {
            () = forward(listener) => {}
            () = working => {}
        }
    }
    worker.stop().await;
}

async fn a_server_that_does_not_answer_is_unavailable(db: Database) {
    let scene = Scene::on(db).await;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let engine = engine_at(&silent.local_addr().unwrap().to_string(), &scene.queue);

    let began = Instant::now();
    let stopped = engine.stop(AssignmentId::generate(), StopMode::Cancel).await;

    assert!(stopped.is_err());
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
}
