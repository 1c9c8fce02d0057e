//! Runs of assignments in SQL, for workers and timers: all through `all_rows`.
//!
//! Claims are in `claiming.rs`, outcomes in `step_outcome.rs`, and ends that no
//! worker reports in `forced_failure.rs`. `due_at` is set exactly while an
//! assignment is unfinished.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_assignments::{
    AssignmentStatus, NewEvent, QueueState, QueuedAssignment, Run, RunChange, RunClaim, RunFailure,
    RunStore, Worker, WorkerId,
};
use pia_kernel::{AssignmentId, Timestamp, Unavailable, UserId};
use pia_storage::schema::{assignment_workers, assignments};
use pia_storage::{DbError, DbInstant, DbUid, in_tx, on_conn};

use crate::assignments::SqlAssignments;
use crate::claiming::{ClaimRuns, ClaimedRow, LockNextDue, MAX_CLOCK_LEAD};
use crate::event_rows::EventRow;
use crate::forced_failure::ForcedFailure;
use crate::redaction::RedactAssignments;

/// Query of the unfinished assignments.
macro_rules! unfinished_assignments {
    () => {
        assignments::table.filter(assignments::due_at.is_not_null())
    };
}

/// Query of the assignments that wait. Until they run, they are due since they
/// were handed over.
macro_rules! queued_assignments {
    () => {
        unfinished_assignments!().filter(assignments::status.eq(AssignmentStatus::Queued.name()))
    };
}

/// Query of the assignments that ended before a time, the oldest first.
macro_rules! ended_before {
    ($before:expr, $limit:expr) => {
        assignments::table
            .filter(assignments::completed_at.lt(DbInstant($before)))
            .order(assignments::completed_at)
            .limit(i64::from($limit))
            .select(assignments::id)
    };
}

/// Row of a worker, in the order of its table's columns.
#[derive(Queryable)]
struct WorkerRow {
    id: DbUid,
    host: String,
    started_at: DbInstant,
    alive_until: DbInstant,
}

impl WorkerRow {
    fn into_worker(self, runs: i64) -> Worker {
        Worker {
            id: WorkerId(self.id.0),
            host: self.host,
            started_at: self.started_at.0,
            alive_until: self.alive_until.0,
            runs,
        }
    }
}

#[async_trait]
impl RunStore for SqlAssignments {
    async fn keep_alive(
        &self,
        worker: WorkerId,
        host: &str,
        now: Timestamp,
        lease: Duration,
    ) -> Result<(), Unavailable> {
        let started_at = DbInstant(now);
        let lease_end = DbInstant(now + lease);
        let new_worker = (
            assignment_workers::id.eq(DbUid(worker.0)),
            assignment_workers::host.eq(host),
            assignment_workers::started_at.eq(started_at),
            assignment_workers::alive_until.eq(lease_end),
        );

        let lease_upsert = diesel::insert_into(assignment_workers::table)
            .values(new_worker)
            .on_conflict(assignment_workers::id)
            .do_update()
            .set(assignment_workers::alive_until.eq(lease_end));

        let is_over = assignment_workers::alive_until.le(DbInstant(now));
        let is_too_far_ahead = assignment_workers::alive_until.gt(DbInstant(now + MAX_CLOCK_LEAD));
        let delete_dead =
            diesel::delete(assignment_workers::table.filter(is_over.or(is_too_far_ahead)));

        on_conn!(self.all_rows.writer(), |conn| {
            lease_upsert.execute(conn).await?;
            delete_dead.execute(conn).await?;
        })?;

        Ok(())
    }

    async fn retire(&self, worker: WorkerId) -> Result<(), Unavailable> {
        let retire = diesel::delete(assignment_workers::table.find(DbUid(worker.0)));
        on_conn!(self.all_rows.writer(), |conn| retire.execute(conn).await?)?;
        Ok(())
    }

    async fn claim(
        &self,
        worker: WorkerId,
        now: Timestamp,
        started: NewEvent,
    ) -> Result<Option<Run>, Unavailable> {
        let at = DbInstant(now);
        // Workers that wait must not disturb writers.
        if on_conn!(self.all_rows.reader(), |conn| conn.find_next_due(at).await?)?.is_none() {
            return Ok(None);
        }

        let claimed_row: Option<ClaimedRow> =
            in_tx!(self.all_rows, async |conn| -> Result<Option<ClaimedRow>, DbError> {
                let Some(id) = conn.lock_next_due(at).await? else { return Ok(None) };
                conn.claim_run(id, DbUid(worker.0), now, &started).await
            })?;

        let Some(claimed_row) = claimed_row else { return Ok(None) };

        self.open_or_release(claimed_row, now).await
    }

    async fn claim_one(
        &self,
        id: AssignmentId,
        worker: WorkerId,
        now: Timestamp,
        started: NewEvent,
    ) -> Result<Option<Run>, Unavailable> {
        let claimed_row: Option<ClaimedRow> =
            in_tx!(self.all_rows, async |conn| -> Result<Option<ClaimedRow>, DbError> {
                conn.claim_run(DbUid(id.0), DbUid(worker.0), now, &started).await
            })?;

        let Some(claimed_row) = claimed_row else { return Ok(None) };

        self.open_or_release(claimed_row, now).await
    }

    async fn holds(&self, claim: RunClaim) -> Result<bool, Unavailable> {
        Ok(self.holds_claim(claim).await?)
    }

    async fn change(&self, claim: RunClaim, change: RunChange) -> Result<bool, Unavailable> {
        self.change_run(claim, change).await
    }

    async fn abandon(&self, id: AssignmentId, tokens: i64) -> Result<(), Unavailable> {
        let abandon = diesel::update(assignments::table.find(DbUid(id.0)))
            .set(assignments::tokens_abandoned.eq(assignments::tokens_abandoned + tokens));
        on_conn!(self.all_rows.writer(), |conn| abandon.execute(conn).await?)?;
        Ok(())
    }

    async fn expire(
        &self,
        started_before: Timestamp,
        failure: RunFailure,
        now: Timestamp,
    ) -> Result<Vec<AssignmentId>, Unavailable> {
        let query = assignments::table
            .filter(assignments::completed_at.is_null())
            .filter(assignments::started_at.lt(DbInstant(started_before)))
            .order(assignments::started_at)
            .select((assignments::id, assignments::user_id));

        let rows: Vec<(DbUid, DbUid)> =
            on_conn!(self.all_rows.reader(), |conn| query.load(conn).await?)?;
        let mut expired_ids = Vec::new();
        for (id, user) in rows {
            let id = AssignmentId(id.0);
            let forced = ForcedFailure { id, user: UserId(user.0), failure: &failure, at: now };
            if self.fail(forced, AssignmentStatus::Running).await? {
                expired_ids.push(id);
            }
        }

        Ok(expired_ids)
    }

    async fn queued_before(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<QueuedAssignment>, Unavailable> {
        let query = queued_assignments!()
            .filter(assignments::due_at.lt(DbInstant(before)))
            .order((assignments::due_at, assignments::id))
            .limit(i64::from(limit))
            .select((assignments::id, assignments::restarts));

        let rows: Vec<(DbUid, i32)> =
            on_conn!(self.all_rows.reader(), |conn| query.load(conn).await?)?;

        let assignments = rows.into_iter().map(|(id, restarts)| QueuedAssignment {
            id: AssignmentId(id.0),
            restarts: u32::try_from(restarts).unwrap_or_default(),
        });
        Ok(assignments.collect())
    }

    async fn count_restart(&self, id: AssignmentId) -> Result<(), Unavailable> {
        let row = queued_assignments!().filter(assignments::id.eq(DbUid(id.0)));
        let count = diesel::update(row).set(assignments::restarts.eq(assignments::restarts + 1));
        on_conn!(self.all_rows.writer(), |conn| count.execute(conn).await?)?;
        Ok(())
    }

    async fn give_up(
        &self,
        id: AssignmentId,
        failure: RunFailure,
        now: Timestamp,
    ) -> Result<bool, Unavailable> {
        let query = assignments::table.find(DbUid(id.0)).select(assignments::user_id);
        let user: Option<DbUid> =
            on_conn!(self.all_rows.reader(), |conn| query.first(conn).await.optional()?)?;
        let Some(user) = user else { return Ok(false) };

        let forced = ForcedFailure { id, user: UserId(user.0), failure: &failure, at: now };
        self.fail(forced, AssignmentStatus::Queued).await
    }

    async fn redact(
        &self,
        ended_before: Timestamp,
        now: Timestamp,
        event: NewEvent,
        limit: u32,
    ) -> Result<usize, Unavailable> {
        let ended_query =
            ended_before!(ended_before, limit).filter(assignments::plaintext_dropped_at.is_null());
        let ids: Vec<DbUid> =
            on_conn!(self.all_rows.reader(), |conn| ended_query.load(conn).await?)?;
        let event_row = |id| Ok((id, EventRow::new(id, event.clone(), now, None)?));
        let events = ids.into_iter().map(event_row).collect::<Result<Vec<_>, Unavailable>>()?;
        if events.is_empty() {
            return Ok(0);
        }

        let redacted_at = DbInstant(now);

        in_tx!(self.all_rows, async |conn| { conn.redact(&events, redacted_at).await })
    }

    async fn delete(&self, ended_before: Timestamp, limit: u32) -> Result<usize, Unavailable> {
        let ended_query = ended_before!(ended_before, limit);
        let ids: Vec<DbUid> =
            on_conn!(self.all_rows.reader(), |conn| ended_query.load(conn).await?)?;
        if ids.is_empty() {
            return Ok(0);
        }

        let deletion = diesel::delete(assignments::table.filter(assignments::id.eq_any(ids)));
        Ok(on_conn!(self.all_rows.writer(), |conn| deletion.execute(conn).await?)?)
    }

    async fn count_queue(&self) -> Result<QueueState, Unavailable> {
        let count_unfinished = unfinished_assignments!().count();
        let count_queued = queued_assignments!().count();
        let find_oldest =
            queued_assignments!().order(assignments::due_at).select(assignments::created_at);

        let (unfinished, queued, oldest): (i64, i64, Option<DbInstant>) =
            on_conn!(self.all_rows.reader(), |conn| {
                let unfinished = count_unfinished.get_result(conn).await?;
                let queued = count_queued.get_result(conn).await?;
                (unfinished, queued, find_oldest.first(conn).await.optional()?)
            })?;

        let running = unfinished.saturating_sub(queued).max(0);
        Ok(QueueState { queued, running, oldest_queued_at: oldest.map(|it| it.0) })
    }

    async fn list_workers(&self, now: Timestamp) -> Result<Vec<Worker>, Unavailable> {
        let alive_query = assignment_workers::table
            .filter(assignment_workers::alive_until.gt(DbInstant(now)))
            .order((assignment_workers::started_at, assignment_workers::id));

        let runs_query = unfinished_assignments!()
            .filter(assignments::worker_id.is_not_null())
            .group_by(assignments::worker_id)
            .select((assignments::worker_id.assume_not_null(), count_star()));

        let (rows, run_counts): (Vec<WorkerRow>, Vec<(DbUid, i64)>) =
            on_conn!(self.all_rows.reader(), |conn| {
                (alive_query.load(conn).await?, runs_query.load(conn).await?)
            })?;

        let runs_by_worker: HashMap<DbUid, i64> = run_counts.into_iter().collect();
        let workers = rows.into_iter().map(|row| {
            let runs = runs_by_worker.get(&row.id).copied().unwrap_or_default();
            row.into_worker(runs)
        });

        Ok(workers.collect())
    }
}
