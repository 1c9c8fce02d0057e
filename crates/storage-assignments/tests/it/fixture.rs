//! Users, assignments and workers for tests.

use std::sync::Arc;
use std::time::Duration;

use diesel::prelude::*;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use pia_assignments::{
    AssignmentCreationOutcome, AssignmentDetails, AssignmentStore, EventKind, FailureCode,
    ForcedEnd, NewAssignment, NewEvent, Run, RunChange, RunClaim, RunFailure, RunOutcome, RunStore,
    Skill, WorkerId, built_in_skills,
};
use pia_kernel::{AssignmentId, Secret, Timestamp, UserId};
use pia_sealing::{MasterKeys, Sealer};
use pia_storage::schema::accounts;
use pia_storage::{Database, DbError, DbInstant, DbUid, on_conn};
use pia_storage_assignments::SqlAssignments;
use pia_storage_sealing::SqlSalts;
use uuid::Uuid;

pub(crate) const INPUT: &str = r#"{"schemaVersion":1,"prompt":"Brief me on the move."}"#;
pub(crate) const LEASE: Duration = Duration::from_mins(1);

/// Returns a time, in seconds.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

pub(crate) fn open_store(db: &Database) -> SqlAssignments {
    let keys = MasterKeys { current: Secret::new([7; 32]), previous: None };
    SqlAssignments::new(db.clone(), Sealer::new(keys, Arc::new(SqlSalts::new(db.clone()))))
}

pub(crate) async fn create_person(db: &Database) -> UserId {
    let user = UserId::generate();
    let account = diesel::insert_into(accounts::table).values((
        accounts::id.eq(DbUid(user.0)),
        accounts::email.eq(user.to_string()),
        accounts::email_folded.eq(user.to_string()),
        accounts::provider.eq("local"),
        accounts::customer_type.eq(0),
        accounts::created_at.eq(DbInstant(at(0))),
        accounts::role.eq("User"),
    ));
    let result: Result<usize, DbError> =
        on_conn!(db.writer(), |conn| account.execute(conn).await?);
    result.unwrap();
    user
}

pub(crate) async fn execute(db: &Database, sql: &str) {
    let result: Result<(), DbError> =
        on_conn!(db.unrestricted().writer(), |conn| conn.batch_execute(sql).await?);
    result.unwrap();
}

/// Returns the number of rows that have sealed contents, and of sealed messages.
pub(crate) async fn count_sealed(db: &Database) -> (i64, i64) {
    use pia_storage::schema::{assignment_events, assignments};
    let contents = assignments::table
        .filter(
            assignments::input
                .is_not_null()
                .or(assignments::outputs.is_not_null())
                .or(assignments::artifact_json.is_not_null())
                .or(assignments::artifact_text.is_not_null())
                .or(assignments::error_message.is_not_null()),
        )
        .count();
    let messages =
        assignment_events::table.filter(assignment_events::sealed_message.is_not_null()).count();
    let counts: Result<(i64, i64), DbError> = on_conn!(db.unrestricted().reader(), |conn| {
        (contents.get_result(conn).await?, messages.get_result(conn).await?)
    });
    counts.unwrap()
}

/// Returns the skill with three steps.
pub(crate) fn brief() -> Skill {
    let [_, brief] = built_in_skills();
    brief
}

pub(crate) fn assignment(user: UserId, created_at: Timestamp) -> NewAssignment {
    NewAssignment {
        id: AssignmentId::generate(),
        user,
        skill: brief(),
        input: INPUT.to_owned(),
        at: created_at,
        event: NewEvent::once(EventKind::Queued, "Waiting for a worker."),
    }
}

/// Hands an assignment over.
pub(crate) async fn queue_assignment(db: &Database, user: UserId, seconds: i64) -> AssignmentId {
    let new = assignment(user, at(seconds));
    let id = new.id;
    assert_eq!(open_store(db).create(new, 1_000).await.unwrap(), AssignmentCreationOutcome::Done);
    id
}

/// Starts a worker that is alive for [`LEASE`].
pub(crate) async fn live_worker(db: &Database, now: Timestamp) -> WorkerId {
    let worker = WorkerId(Uuid::now_v7());
    open_store(db).keep_alive(worker, "host-1", now, LEASE).await.unwrap();
    worker
}

pub(crate) fn start_event() -> NewEvent {
    NewEvent::once(EventKind::Started, "Started.")
}

pub(crate) async fn claim(db: &Database, worker: WorkerId, now: Timestamp) -> Option<Run> {
    open_store(db).claim(worker, now, start_event()).await.unwrap()
}

/// Hands an assignment over and claims it, when no other is due.
pub(crate) async fn start_run(db: &Database, user: UserId, seconds: i64) -> Run {
    let id = queue_assignment(db, user, seconds).await;
    let run = claim(db, live_worker(db, at(seconds)).await, at(seconds)).await.unwrap();
    assert_eq!(run.claim.id, id);
    run
}

pub(crate) fn forced_end(kind: EventKind, now: Timestamp) -> ForcedEnd {
    ForcedEnd { at: now, event: NewEvent::once(kind, "Ended.") }
}

pub(crate) fn failure() -> RunFailure {
    RunFailure { code: FailureCode::WallClockExceeded, message: "It took too long.".to_owned() }
}

/// Returns the change of a step that ended with an output.
pub(crate) fn step_change(step: i32, now: Timestamp) -> RunChange {
    let outcome = RunOutcome::Continued {
        output: format!("output {step}"),
        tools: vec!["search".to_owned()],
    };
    let message = format!("Facts: output {step}");
    let event = NewEvent::of_step(EventKind::Step, step, &message).by_other();
    let next = NewEvent::of_step(EventKind::Continued, step, "Next step.");
    RunChange { at: now, tokens: 10, abandoned: 0, events: vec![event, next], outcome }
}

/// Returns the change of a run that ended with an artifact.
pub(crate) fn completion(now: Timestamp) -> RunChange {
    let outcome = RunOutcome::Completed {
        artifact_json: r#"{"choices":[]}"#.to_owned(),
        artifact_text: Some("The brief.".to_owned()),
    };
    let events = vec![
        NewEvent::of_step(EventKind::Artifact, 2, "The result is ready."),
        NewEvent::once(EventKind::Completed, "Completed."),
    ];
    RunChange { at: now, tokens: 5, abandoned: 0, events, outcome }
}

/// Returns whether a claim still holds and the assignment has not ended.
pub(crate) async fn is_held(db: &Database, claim: RunClaim) -> bool {
    use pia_storage::schema::assignments;
    let query = assignments::table
        .find(DbUid(claim.id.0))
        .filter(assignments::fence.eq(claim.fence))
        .filter(assignments::worker_id.is_not_null())
        .count();
    let count: Result<i64, DbError> =
        on_conn!(db.unrestricted().reader(), |conn| query.get_result(conn).await?);
    count.unwrap() == 1
}

pub(crate) async fn load(db: &Database, user: UserId, id: AssignmentId) -> AssignmentDetails {
    AssignmentStore::load(&open_store(db), user, id).await.unwrap().unwrap()
}

pub(crate) fn kinds(details: &AssignmentDetails) -> Vec<&str> {
    details.events.iter().map(|it| it.kind.as_str()).collect()
}
