//! Assignments of servers that are killed or frozen, as real processes.

use std::time::{Duration, Instant};

use pia_server_testkit::ai_peer::{Call, Peer, response};
use pia_server_testkit::client::Client;
use pia_server_testkit::harness::TestApp;
use pia_server_testkit::on_databases_with_roles;
use pia_server_testkit::program::{self, ServerProcess};
use pia_testkit::databases::TestDatabase;
use serde_json::json;

use super::{ANSWER, accepting, granted, hand_over, kinds, wait_for_end};

on_databases_with_roles!(
    a_run_whose_server_is_killed_in_a_step_continues_within_seconds,
    a_run_whose_server_is_killed_between_steps_repeats_none,
);

/// Maximum time from the end of a process to the next step elsewhere.
const RECOVERY: Duration = Duration::from_secs(5);
/// Time that a busy machine may take to start a process.
const START: Duration = Duration::from_secs(3);
/// Events of a brief that nothing interrupted.
const BRIEF: [&str; 8] =
    ["queued", "started", "step", "continued", "step", "continued", "artifact", "completed"];

/// Database with a user who may hand assignments over, and their upstream.
struct Installation {
    server: program::Invocation,
    upstream: Peer,
    user: Client,
    /// Owner of the database's files.
    _app: TestApp,
}

impl Installation {
    async fn prepare(database: TestDatabase) -> Self {
        let upstream = Peer::start().await;
        let mut server = program::Invocation::new()
            .licensed()
            .with("Ai__Endpoint", &upstream.endpoint)
            .with("Ai__Model", "m")
            .with("Operators__Enabled", "true")
            .with("Workflow__Address", "embedded")
            .with("Database__Provider", database.provider().name())
            .with("Database__ConnectionString", &database.url);
        if let Some([_, maintenance]) = &database.roles {
            server = server.with("Database__MaintenanceConnectionString", maintenance);
        }
        let (app, _console, user) = granted(accepting(database, &upstream.endpoint)).await;
        // Its worker must not take what others drop.
        app.stop.cancel();
        Self { server, upstream, user, _app: app }
    }

    async fn start(&self) -> (ServerProcess, Client) {
        let server = self.server.beside().start().await;
        let user = Client { addr: server.addr, ..self.user.clone() };
        (server, user)
    }
}

async fn answer(call: &mut Call) {
    call.write(response("200 OK", "content-type: application/json\r\n", ANSWER)).await;
}

async fn a_run_whose_server_is_killed_in_a_step_continues_within_seconds(database: TestDatabase) {
    let installation = Installation::prepare(database).await;
    for killed_step in 0..3 {
        let (server, user) = installation.start().await;
        let path = hand_over(&user, "brief").await;
        for _ in 0..killed_step {
            answer(&mut installation.upstream.call().await).await;
        }
        let interrupted = installation.upstream.call().await;
        server.signal("KILL");
        server.end().await;
        let killed = Instant::now();
        drop(interrupted);

        let (_server, user) = installation.start().await;
        let mut repeated = installation.upstream.call().await;
        let recovery = killed.elapsed();
        answer(&mut repeated).await;
        for _ in killed_step + 1..3 {
            answer(&mut installation.upstream.call().await).await;
        }
        let assignment = wait_for_end(&user, &path).await;

        assert!(recovery < RECOVERY + START, "step {killed_step} was repeated after {recovery:?}");
        assert_eq!(kinds(&assignment), BRIEF);
        assert_eq!(assignment["tokensSpent"], json!(126), "{assignment}");
        assert_eq!(assignment["tokensAbandoned"], json!(0), "{assignment}");
    }
}

async fn a_run_whose_server_is_killed_between_steps_repeats_none(database: TestDatabase) {
    let installation = Installation::prepare(database).await;
    for answered in 1..3 {
        let (server, user) = installation.start().await;
        let path = hand_over(&user, "brief").await;
        for _ in 0..answered {
            answer(&mut installation.upstream.call().await).await;
        }
        // The next call proves that the steps before it are stored.
        let next = installation.upstream.accept().await;
        server.signal("KILL");
        server.end().await;
        drop(next);

        let (_server, user) = installation.start().await;
        for _ in answered..3 {
            answer(&mut installation.upstream.call().await).await;
        }
        let assignment = wait_for_end(&user, &path).await;

        assert_eq!(kinds(&assignment), BRIEF);
        assert_eq!(assignment["tokensSpent"], json!(126), "{assignment}");
    }
}

/// The second process repeats the step of a frozen one, which changes nothing when
/// it wakes up.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_frozen_beyond_its_lease_changes_nothing() {
    let database = TestDatabase::postgres().await;
    let installation = Installation::prepare(database).await;
    let (frozen, user) = installation.start().await;
    let path = hand_over(&user, "brief").await;
    let mut late_call = installation.upstream.call().await;
    frozen.signal("STOP");
    let stopped = Instant::now();
    let (_awake, user) = installation.start().await;

    answer(&mut installation.upstream.call().await).await;
    let recovery = stopped.elapsed();
    answer(&mut late_call).await;
    frozen.signal("CONT");
    for _ in 1..3 {
        answer(&mut installation.upstream.call().await).await;
    }
    let assignment = wait_for_end(&user, &path).await;

    assert!(recovery < RECOVERY + START, "{recovery:?}");
    assert_eq!(kinds(&assignment), BRIEF);
    assert_eq!(assignment["tokensSpent"], json!(126), "{assignment}");
    // What the frozen worker spent was not accepted.
    let abandoned = pia_server_testkit::polling::until(async || {
        user.get(&path).await.body["tokensAbandoned"].as_i64().filter(|it| *it > 0)
    });
    assert_eq!(abandoned.await, 42);
}
