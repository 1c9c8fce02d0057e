//! Claiming of runs.
//!
//! A run is free if no worker is in its row, or if that worker's lease has ended.
//! A claim writes the worker and increments the fence in one statement;
//! PostgreSQL locks the row before (`FOR UPDATE SKIP LOCKED`), so that workers do
//! not wait for each other. The claimed row is opened outside of the transaction.

use std::time::Duration;

use diesel::dsl::{exists, not};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_assignments::{AssignmentStatus, InputEnvelope, NewEvent, Run, RunClaim};
use pia_kernel::{AssignmentId, Timestamp, Unavailable, UserId};
use pia_storage::schema::{assignment_workers, assignments};
use pia_storage::{AsyncPostgres, AsyncSqlite, DbError, DbInstant, DbUid, connection_trait};

use crate::assignments::SqlAssignments;
use crate::contents::SealedText;
use crate::event_rows::{AppendEvents, EventRow};

/// Time after which a run that could not be opened is claimed again.
const UNREADABLE_DELAY: Duration = Duration::from_mins(1);

/// Row of an assignment that a worker has claimed.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = assignments)]
pub(crate) struct ClaimedRow {
    id: DbUid,
    user_id: DbUid,
    fence: i64,
    step_count: i32,
    tokens_spent: i64,
    failed_attempts: i32,
    started_at: Option<DbInstant>,
    event_count: i32,
    tools: Option<String>,
    skill: String,
    input: Option<Vec<u8>>,
    outputs: Option<Vec<u8>>,
}

/// Maximum time by which a run or the lease of a worker may lie in the future.
/// Later times were written before a clock was set back, and must not be waited
/// for.
pub(crate) const MAX_CLOCK_LEAD: Duration = Duration::from_mins(5);

/// Query of the assignment that no live worker holds and that has been due longest,
/// of those due `$when`. SQLite reads a single range of the index in its order; with
/// `OR` it would sort all that wait.
macro_rules! first_due {
    ($now:expr, $when:expr) => {{
        let ahead = DbInstant($now.0 + MAX_CLOCK_LEAD);
        let holder = assignment_workers::table
            .filter(assignment_workers::id.nullable().eq(assignments::worker_id))
            .filter(assignment_workers::alive_until.gt($now))
            .filter(assignment_workers::alive_until.le(ahead));
        assignments::table
            .filter($when)
            .filter(assignments::worker_id.is_null().or(not(exists(holder))))
            .order((assignments::due_at, assignments::id))
            .select(assignments::id)
            .limit(1)
    }};
}

/// Query of the next assignment that is due.
macro_rules! next_due {
    ($now:expr) => {
        first_due!($now, assignments::due_at.le($now))
    };
}

/// Query of the next assignment that lies too far ahead.
macro_rules! next_ahead {
    ($now:expr) => {
        first_due!($now, assignments::due_at.gt(DbInstant($now.0 + MAX_CLOCK_LEAD)))
    };
}

/// Locking of the next run, which the two databases do differently.
pub(crate) trait LockNextDue {
    /// Locks the run that is due next and that no other transaction is claiming.
    async fn lock_next_due(&mut self, now: DbInstant) -> Result<Option<DbUid>, DbError>;
}

/// SQLite has one writer and needs no lock.
impl LockNextDue for AsyncSqlite {
    async fn lock_next_due(&mut self, now: DbInstant) -> Result<Option<DbUid>, DbError> {
        self.find_next_due(now).await
    }
}

impl LockNextDue for AsyncPostgres {
    async fn lock_next_due(&mut self, now: DbInstant) -> Result<Option<DbUid>, DbError> {
        let due_query = next_due!(now).for_update().skip_locked();
        if let Some(id) = due_query.first(self).await.optional()? {
            return Ok(Some(id));
        }
        Ok(next_ahead!(now).for_update().skip_locked().first(self).await.optional()?)
    }
}

connection_trait! {
    /// Connection that can claim runs.
    pub(crate) trait ClaimRuns {
        /// Finds the run that is due next.
        async fn find_next_due(&mut self, now: DbInstant) -> Result<Option<DbUid>, DbError> {
            if let Some(id) = next_due!(now).first(self).await.optional()? {
                return Ok(Some(id));
            }
            Ok(next_ahead!(now).first(self).await.optional()?)
        }

        /// Claims a run that has not ended. The first claim starts it.
        async fn claim_run(
            &mut self,
            id: DbUid,
            worker: DbUid,
            now: Timestamp,
            started: &NewEvent,
        ) -> Result<Option<ClaimedRow>, DbError> {
            let at = DbInstant(now);
            let unfinished = [AssignmentStatus::Queued.name(), AssignmentStatus::Running.name()];
            let row = assignments::table.find(id).filter(assignments::status.eq_any(unfinished));

            let columns = (
                assignments::fence.eq(assignments::fence + 1),
                assignments::worker_id.eq(Some(worker)),
            );
            let claimed_row = diesel::update(row)
                .set(columns)
                .returning(ClaimedRow::as_returning())
                .get_result::<ClaimedRow>(self)
                .await
                .optional()?;
            let Some(mut claimed) = claimed_row else {
                return Ok(None);
            };

            if claimed.started_at.is_none() {
                let started_at = Some(at);
                let running = (
                    assignments::status.eq(AssignmentStatus::Running.name()),
                    assignments::started_at.eq(started_at),
                    assignments::updated_at.eq(at),
                    assignments::event_count.eq(assignments::event_count + 1),
                );

                diesel::update(assignments::table.find(id)).set(running).execute(self).await?;
                let event = EventRow::new(id, started.clone(), now, None)?;
                self.append(&[event], claimed.event_count.saturating_add(1)).await?;
                claimed.started_at = started_at;
            }

            Ok(Some(claimed))
        }
    }
}

impl SqlAssignments {
    /// Opens a claimed run. One that cannot be opened now is released for a while:
    /// it must neither block others nor be lost.
    pub(crate) async fn open_or_release(
        &self,
        row: ClaimedRow,
        now: Timestamp,
    ) -> Result<Option<Run>, Unavailable> {
        let claim = RunClaim { id: AssignmentId(row.id.0), fence: row.fence };
        let opened_run = self.open_run(row).await;
        if opened_run.is_err() {
            self.release(claim, now + UNREADABLE_DELAY).await?;
        }
        opened_run
    }

    async fn open_run(&self, row: ClaimedRow) -> Result<Option<Run>, Unavailable> {
        let user = UserId(row.user_id.0);
        let Some(seal) = self.sealer.seal_for(user).await? else { return Ok(None) };

        let input_json = SealedText::Input
            .open(&seal, row.id, row.input)?
            .ok_or(DbError::Unreadable("assignments.input"))?;
        let input =
            InputEnvelope::parse(&input_json).map_err(|err| Unavailable::new("an input", err))?;
        let outputs = SealedText::Outputs.open(&seal, row.id, row.outputs)?;
        let skill = serde_json::from_str(&row.skill)
            .map_err(|_malformed| DbError::Unreadable("assignments.skill"))?;

        Ok(Some(Run {
            claim: RunClaim { id: AssignmentId(row.id.0), fence: row.fence },
            user,
            skill,
            input,
            step_count: row.step_count,
            outputs: parse_texts(outputs.as_deref())?.unwrap_or_default(),
            tokens_spent: row.tokens_spent,
            failed_attempts: u32::try_from(row.failed_attempts).unwrap_or_default(),
            tools: parse_texts(row.tools.as_deref())?,
            started_at: row.started_at.ok_or(DbError::Unreadable("assignments.started_at"))?.0,
        }))
    }
}

/// Parses a list of texts.
pub(crate) fn parse_texts(json: Option<&str>) -> Result<Option<Vec<String>>, DbError> {
    json.map(serde_json::from_str)
        .transpose()
        .map_err(|_malformed| DbError::Unreadable("assignments"))
}

#[cfg(test)]
mod tests {
    use diesel::connection::SimpleConnection;
    use diesel::sql_types::Text;
    use diesel::sqlite::Sqlite;

    use super::*;

    const TABLES: &str =
        include_str!("../../../migrations/sqlite/2026-11-25-000300_assignments/up.sql");

    #[derive(QueryableByName)]
    struct PlanLine {
        #[diesel(sql_type = Text)]
        detail: String,
    }

    #[test]
    fn a_claim_reads_no_other_runs_that_wait() {
        let mut conn = SqliteConnection::establish(":memory:").unwrap();
        conn.batch_execute(TABLES).unwrap();
        let now = DbInstant(Timestamp::from_micros(0));
        let queries = [
            diesel::debug_query::<Sqlite, _>(&next_due!(now)).to_string(),
            diesel::debug_query::<Sqlite, _>(&next_ahead!(now)).to_string(),
        ];

        for query in queries {
            let (query, _binds) = query.split_once(" -- binds").unwrap();
            let explain = diesel::sql_query(format!("EXPLAIN QUERY PLAN {query}"));
            let lines: Vec<PlanLine> = diesel::RunQueryDsl::load(explain, &mut conn).unwrap();
            let plan: Vec<_> = lines.into_iter().map(|it| it.detail).collect();

            assert!(plan[0].contains("INDEX assignments_due"), "{plan:?}");
            assert!(!plan.iter().any(|it| it.contains("B-TREE")), "{plan:?}");
        }
    }
}
