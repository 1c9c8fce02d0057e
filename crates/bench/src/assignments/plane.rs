//! Task plane, as an instance assembles it.
//!
//! Steps are answered at once (`ReadySteps`), so that the figures are those of the
//! queue and its database, and not of models. Users hold the built-in skills by a
//! grant to the group of everybody.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_assignments::{
    AssignmentSettings, AssignmentStore, Assignments, OperatorStore, RunStore, Runs, SkillMode,
    StepError, StepExecutor, StepProgress, StepRequest, StepResponse, StopMode, UserSteps,
    WorkerId, WorkflowEngine,
};
use pia_identity::DEFAULT_GROUP;
use pia_kernel::{
    AssignmentId, Clock, GroupSelection, LiveSetting, SideEffects, SystemClock, Unavailable, UserId,
};
use pia_sealing::Sealer;
use pia_storage::schema::accounts;
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use pia_storage_assignments::{SqlAssignments, SqlOperators};
use pia_storage_sealing::SqlSalts;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::database::master_keys;
use crate::failure::Outcome;

/// Number of runs that a worker advances at once, the server's default.
pub(super) const WORKERS: usize = 4;
/// Lease of the worker. One of more than five minutes would count as that of a
/// clock which was set back.
const LEASE: Duration = Duration::from_mins(1);
/// Interval at which the lease is extended, as an instance does.
const EXTENSION: Duration = Duration::from_secs(1);
const INPUT: &str = r#"{"schemaVersion":1,"prompt":"Brief me on the move.","items":[]}"#;

/// Users, their assignments, and the runs of these.
#[derive(Clone)]
pub(super) struct Plane {
    pub(super) db: Database,
    pub(super) store: Arc<SqlAssignments>,
    pub(super) runs: Runs,
    pub(super) worker: WorkerId,
    /// Users, at least as many as workers.
    pub(super) users: Vec<UserId>,
    assignments: Assignments,
    /// Notified when an assignment is handed over.
    pub(super) wake: Arc<Notify>,
}

impl Plane {
    /// Creates users who may hand over the skills that the server ships.
    pub(super) async fn create(db: &Database, users: usize) -> Outcome<Self> {
        let sealer = Sealer::new(master_keys(), Arc::new(SqlSalts::new(db.clone())));
        let store = Arc::new(SqlAssignments::new(db.clone(), sealer));
        let operators = Arc::new(SqlOperators::new(db.clone()));
        let clock = Arc::new(SystemClock);
        let wake = Arc::new(Notify::new());
        let settings = LiveSetting::new(AssignmentSettings {
            max_per_user: u32::MAX,
            ..AssignmentSettings::default()
        });
        let runs = Runs {
            store: Arc::clone(&store) as _,
            steps: Arc::new(ReadySteps),
            settings: settings.clone(),
            clock: Arc::clone(&clock) as _,
            user_steps: UserSteps::default(),
        };

        let administration = pia_assignments::AssignmentAdministration {
            assignments: Arc::clone(&store) as _,
            runs: Arc::clone(&store) as _,
            schedules: Arc::clone(&store) as _,
            operators: Arc::clone(&operators) as _,
            engine: Arc::new(Waking(Arc::clone(&wake))),
            clock: Arc::clone(&clock) as _,
        };
        administration.put_built_in().await?;

        for operator in operators.list().await? {
            let groups = GroupSelection::Exactly(vec![DEFAULT_GROUP]);
            operators.grant(operator.id, groups, SideEffects::default()).await?;
        }

        let assignments = Assignments {
            store: Arc::clone(&store) as _,
            operators,
            engine: Arc::new(Waking(Arc::clone(&wake))),
            settings,
            clock,
        };

        let worker = WorkerId(Uuid::now_v7());
        let mut created = Vec::new();
        for _ in 0..users.max(WORKERS) {
            created.push(create_user(db).await?);
        }

        Ok(Self { db: db.clone(), store, runs, worker, users: created, assignments, wake })
    }

    /// Extends the lease of the worker.
    pub(super) async fn extend_lease(&self) -> Result<(), Unavailable> {
        self.store.keep_alive(self.worker, "bench", SystemClock.now(), LEASE).await
    }

    /// Extends the lease of the worker at intervals, until that fails.
    pub(super) async fn stay_alive(self) -> Result<Infallible, Unavailable> {
        loop {
            self.extend_lease().await?;
            tokio::time::sleep(EXTENSION).await;
        }
    }

    /// Hands over an assignment of a user.
    pub(super) async fn enqueue(&self, user: UserId) -> Outcome<AssignmentId> {
        Ok(self.assignments.enqueue(user, "brief", INPUT.to_owned()).await?)
    }

    /// Lists the first 50 assignments of a user, or of all.
    pub(super) async fn list(&self, user: Option<UserId>) -> Outcome<usize> {
        let listed = match user {
            Some(user) => self.assignments.list(user, 0, 50).await?,
            None => self.store.list_all(0, 50).await?,
        };
        Ok(listed.len())
    }

    /// Commits a change of the row of a user.
    pub(super) async fn commit(&self, user: UserId) -> Result<usize, DbError> {
        let update = diesel::update(accounts::table.find(DbUid(user.0)))
            .set(accounts::display_name.eq(Uuid::now_v7().to_string()));
        on_conn!(self.db.writer(), |conn| update.execute(conn).await?)
    }
}

async fn create_user(db: &Database) -> Outcome<UserId> {
    let user = UserId::generate();
    let account = diesel::insert_into(accounts::table).values((
        accounts::id.eq(DbUid(user.0)),
        accounts::email.eq(format!("{user}@bench.example")),
        accounts::email_folded.eq(format!("{user}@bench.example")),
        accounts::provider.eq("local"),
        accounts::customer_type.eq(0),
        accounts::created_at.eq(DbInstant(SystemClock.now())),
        accounts::role.eq("User"),
    ));
    let result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| account.execute(conn).await?);
    result?;

    Ok(user)
}

/// Model that answers at once.
struct ReadySteps;

#[async_trait]
impl StepExecutor for ReadySteps {
    async fn tools(&self, _: UserId, _: SkillMode) -> Result<Option<Vec<String>>, Unavailable> {
        Ok(Some(Vec::new()))
    }

    async fn execute(&self, _: StepRequest, _: StepProgress) -> Result<StepResponse, StepError> {
        let text = "The move is on Friday.".to_owned();
        let raw = format!(r#"{{"choices":[{{"message":{{"content":"{text}"}}}}]}}"#);
        Ok(StepResponse { text: Some(text), raw, tokens: 42, tool_calls: Vec::new() })
    }
}

/// Engine that wakes the workers of this process, as the embedded one does.
struct Waking(Arc<Notify>);

#[async_trait]
impl WorkflowEngine for Waking {
    async fn start(&self, _: AssignmentId) -> Result<(), Unavailable> {
        self.0.notify_one();
        Ok(())
    }

    async fn stop(&self, _: AssignmentId, _: StopMode) -> Result<(), Unavailable> {
        Ok(())
    }

    async fn is_live(&self, _: AssignmentId) -> Result<bool, Unavailable> {
        Ok(true)
    }
}
