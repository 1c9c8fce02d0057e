//! Assignments in a database, and workers at a task queue of their own.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_assignments::{
    AssignmentCreationOutcome, AssignmentDetails, AssignmentSettings, AssignmentStatus,
    AssignmentStore, EventKind, ForcedEnd, NewAssignment, NewEvent, Runs, Skill, Upkeep, UserSteps,
    WorkerId, WorkflowEngine, built_in_skills,
};
use pia_kernel::{AssignmentId, Clock, LiveSetting, Secret, SideEffects, SystemClock, UserId};
use pia_sealing::{MasterKeys, Sealer};
use pia_storage::schema::accounts;
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use pia_storage_assignments::SqlAssignments;
use pia_storage_sealing::SqlSalts;
use pia_temporal::{TemporalConfig, TemporalEngine, TemporalWorker};
use pia_testkit::databases::seal;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::script::Script;

const INPUT: &str = r#"{"schemaVersion":1,"prompt":"Brief me on the move."}"#;
const TIMEOUT: Duration = Duration::from_secs(40);

/// Database and task queue of a test.
pub(crate) struct Scene {
    pub(crate) db: Database,
    pub(crate) user: UserId,
    pub(crate) engine: TemporalEngine,
    pub(crate) queue: String,
}

/// Worker, which ends with the test.
pub(crate) struct RunningWorker {
    stop: CancellationToken,
    work: JoinHandle<()>,
}

impl Scene {
    pub(crate) async fn on(db: Database) -> Self {
        let user = create_person(&db).await;
        let queue = format!("test-{}", Uuid::now_v7());
        Self { engine: engine_at(&server(), &queue), db, user, queue }
    }

    pub(crate) fn store(&self) -> Arc<SqlAssignments> {
        store(&self.db)
    }

    /// Hands an assignment of three steps over without starting it.
    pub(crate) async fn queued(&self) -> AssignmentId {
        self.queued_with(3).await
    }

    /// Hands an assignment with this number of steps over without starting it.
    pub(crate) async fn queued_with(&self, steps: usize) -> AssignmentId {
        let [research, _] = built_in_skills();
        let id = AssignmentId::generate();
        let new = NewAssignment {
            id,
            user: self.user,
            skill: Skill { steps: vec![research.steps[0].clone(); steps], ..research },
            input: INPUT.to_owned(),
            at: SystemClock.now(),
            event: NewEvent::once(EventKind::Queued, "Waiting for a worker."),
        };
        assert_eq!(self.store().create(new, 1_000).await.unwrap(), AssignmentCreationOutcome::Done);
        id
    }

    /// Hands an assignment of three steps over.
    pub(crate) async fn started(&self) -> AssignmentId {
        let id = self.queued().await;
        self.engine.start(id).await.unwrap();
        id
    }

    pub(crate) fn worker(&self, script: &Arc<Script>) -> RunningWorker {
        self.worker_at(&self.engine, script)
    }

    pub(crate) fn worker_at(&self, engine: &TemporalEngine, script: &Arc<Script>) -> RunningWorker {
        let worker = temporal_worker(engine.clone(), &self.db, Arc::clone(script));
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        #[expect(clippy::disallowed_methods, reason = "stopped on drop")]
        let work = tokio::spawn(async move { worker.work(&stopped).await });
        RunningWorker { stop, work }
    }

    pub(crate) fn upkeep(&self, settings: AssignmentSettings) -> Upkeep {
        Upkeep {
            store: self.store(),
            engine: Arc::new(self.engine.clone()),
            settings: LiveSetting::new(settings),
            clock: Arc::new(SystemClock),
        }
    }

    pub(crate) async fn cancel(&self, id: AssignmentId) -> bool {
        self.store().cancel(self.user, id, forced(EventKind::Cancelled)).await.unwrap()
    }

    pub(crate) async fn terminate(&self, id: AssignmentId) -> bool {
        let end = forced(EventKind::Terminated);
        self.store().terminate(id, end, SideEffects::default()).await.unwrap()
    }

    pub(crate) async fn load(&self, id: AssignmentId) -> AssignmentDetails {
        AssignmentStore::load(&*self.store(), self.user, id).await.unwrap().unwrap()
    }

    /// Waits until an assignment has ended.
    pub(crate) async fn ended(&self, id: AssignmentId) -> AssignmentDetails {
        until(async || {
            let details = self.load(id).await;
            let open = [AssignmentStatus::Queued, AssignmentStatus::Running];
            (!open.contains(&details.assignment.status)).then_some(details)
        })
        .await
    }

    /// Waits until the server has no workflow of an assignment that runs.
    pub(crate) async fn not_live(&self, id: AssignmentId) {
        until(async || (!self.engine.is_live(id).await.unwrap()).then_some(())).await;
    }
}

impl RunningWorker {
    /// Stops the worker and waits for its steps.
    pub(crate) async fn stop(mut self) {
        self.stop.cancel();
        tokio::time::timeout(TIMEOUT, &mut self.work).await.unwrap().unwrap();
    }
}

impl Drop for RunningWorker {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Returns the address of the server that tests share.
pub(crate) fn server() -> String {
    #[expect(clippy::disallowed_methods, reason = "a test reads the environment itself")]
    let address = env::var("TEST_TEMPORAL");
    address.expect("TEST_TEMPORAL is not set: run `cargo xtask test -- -p pia-temporal`, which starts a Temporal server")
}

pub(crate) fn engine_at(address: &str, queue: &str) -> TemporalEngine {
    engine_in("pia", address, queue)
}

pub(crate) fn engine_in(namespace: &str, address: &str, queue: &str) -> TemporalEngine {
    TemporalEngine::new(config(namespace, address, queue), seal()).unwrap()
}

pub(crate) fn encrypted_engine(address: &str, queue: &str) -> TemporalEngine {
    let config = TemporalConfig { is_tls: true, ..config("pia", address, queue) };
    TemporalEngine::new(config, seal()).unwrap()
}

fn config(namespace: &str, address: &str, queue: &str) -> TemporalConfig {
    TemporalConfig {
        address: address.to_owned(),
        namespace: namespace.to_owned(),
        task_queue: queue.to_owned(),
        is_tls: false,
        api_key: None,
    }
}

pub(crate) fn temporal_worker(
    engine: TemporalEngine,
    db: &Database,
    script: Arc<Script>,
) -> TemporalWorker {
    let runs = Runs {
        store: store(db),
        steps: script,
        settings: LiveSetting::new(AssignmentSettings {
            max_steps: 50,
            max_per_user: 50,
            ..AssignmentSettings::default()
        }),
        clock: Arc::new(SystemClock),
        user_steps: UserSteps::default(),
    };
    TemporalWorker { engine, runs, id: WorkerId(Uuid::now_v7()), concurrency: 4 }
}

fn store(db: &Database) -> Arc<SqlAssignments> {
    let keys = MasterKeys { current: Secret::new([7; 32]), previous: None };
    let sealer = Sealer::new(keys, Arc::new(SqlSalts::new(db.clone())));
    Arc::new(SqlAssignments::new(db.clone(), sealer))
}

async fn create_person(db: &Database) -> UserId {
    let user = UserId::generate();
    let account = diesel::insert_into(accounts::table).values((
        accounts::id.eq(DbUid(user.0)),
        accounts::email.eq(user.to_string()),
        accounts::email_folded.eq(user.to_string()),
        accounts::provider.eq("local"),
        accounts::customer_type.eq(0),
        accounts::created_at.eq(DbInstant(SystemClock.now())),
        accounts::role.eq("User"),
    ));
    let result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| account.execute(conn).await?);
    result.unwrap();
    user
}

fn forced(kind: EventKind) -> ForcedEnd {
    ForcedEnd { at: SystemClock.now(), event: NewEvent::once(kind, "Ended.") }
}

pub(crate) fn kinds(details: &AssignmentDetails) -> Vec<&str> {
    details.events.iter().map(|it| it.kind.as_str()).collect()
}

/// Polls until there is a result.
pub(crate) async fn until<T>(mut poll: impl AsyncFnMut() -> Option<T>) -> T {
    tokio::time::timeout(TIMEOUT, async {
        loop {
            if let Some(result) = poll().await {
                return result;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .expect("a result in time")
}
