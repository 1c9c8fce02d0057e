//! Crashes of a worker's process.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pia_assignments::AssignmentStatus;
use pia_storage::{DatabaseKind, DatabaseOptions, DatabaseTarget, Startup};
use pia_testkit::databases::TestDatabase;
use tokio_util::sync::CancellationToken;

use crate::scene::{Scene, engine_at, kinds, server, temporal_worker, until};
use crate::script::{Script, response};

/// Variable with the database and the task queue of another process's worker.
const CHILD: &str = "PIA_TEMPORAL_CHILD";
/// Output of that process when the model is called for the second step.
const HANGS: &str = "the second step hangs";

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_a_killed_worker_is_replaced() {
    a_killed_worker_is_replaced(TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_a_killed_worker_is_replaced() {
    a_killed_worker_is_replaced(TestDatabase::postgres().await).await;
}

async fn a_killed_worker_is_replaced(database: TestDatabase) {
    let scene = Scene::on(database.connect().await).await;
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "crash::worker_of_another_process", "--nocapture"])
        .env(CHILD, format!("{} {}", database.url, scene.queue))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let id = scene.started().await;
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(output.any(|line| line.unwrap().contains(HANGS)));

    child.kill().unwrap();
    child.wait().unwrap();
    let killed_at = Instant::now();
    let script = Arc::new(Script::answering());
    let worker = scene.worker(&script);
    let details = scene.ended(id).await;

    assert_eq!(details.assignment.status, AssignmentStatus::Completed);
    let expected =
        ["queued", "started", "step", "continued", "step", "continued", "artifact", "completed"];
    assert_eq!(kinds(&details), expected);
    assert_eq!(script.called(), 2);
    assert_eq!(details.assignment.tokens_spent, 30);
    assert!(killed_at.elapsed() < Duration::from_secs(30), "{:?}", killed_at.elapsed());
    worker.stop().await;
}

/// Worker that another process of this test kills; without that it does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn worker_of_another_process() {
    #[expect(clippy::disallowed_methods, reason = "a test reads the environment itself")]
    let Ok(child) = env::var(CHILD) else { return };
    let (url, queue) = child.split_once(' ').unwrap();
    let kind =
        if url.starts_with("sqlite") { DatabaseKind::Sqlite } else { DatabaseKind::Postgres };
    let target = DatabaseTarget::parse(kind, url).unwrap();
    let options = DatabaseOptions::default();
    let startup = Startup { target, migration_target: None, maintenance_target: None, options };
    let db = pia_storage::start(startup).await.unwrap();
    let script = Arc::new(Script::new(1, |_| Ok(response())));
    let worker = temporal_worker(engine_at(&server(), queue), &db, Arc::clone(&script));
    let never = CancellationToken::new();
    tokio::join!(worker.work(&never), async {
        until(async || (script.called() == 2).then_some(())).await;
        writeln!(io::stdout(), "{HANGS}").unwrap();
    });
}
