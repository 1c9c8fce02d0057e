//! Handing over of assignments: counts the user's unfinished ones and stores
//! another, with the account locked, so that concurrent calls cannot exceed the
//! limit.
//!
//! On PostgreSQL this takes two round trips, and one more with row-level
//! security: the first locks the account and counts, the second writes, and the
//! transaction begins and ends in them. SQLite and schedules (`schedules.rs`) use
//! `insert_assignment` instead, which does the same in one statement after
//! another.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use diesel_async::pooled_connection::deadpool::Object;
use futures_util::join;
use pia_assignments::AssignmentCreationOutcome;
use pia_storage::schema::{accounts, assignment_events, assignments};
use pia_storage::{
    AsyncPostgres, Conn, CteBatch, Database, DbError, DbUid, NotifyProcesses, Pipelined,
    RetryBackoff, connection_trait, lock_row,
};
use uuid::Uuid;

use crate::assignment_rows::NewRow;
use crate::event_rows::{AppendEvents, EventRow};

/// Channel of notifications of assignments that are handed over.
pub(crate) const QUEUED: &str = "pia_assignments_queued";

/// Query of the number of unfinished assignments of a user.
macro_rules! unfinished_of {
    ($user:expr) => {
        assignments::table
            .filter(assignments::user_id.eq($user))
            .filter(assignments::completed_at.is_null())
            .count()
    };
}

connection_trait! {
    /// Connection that can store new assignments.
    pub(crate) trait InsertAssignment {
        /// Locks an account until the commit, so that it is not deleted meanwhile
        /// and limits on its rows hold. Returns false if it does not exist.
        async fn lock_account(&mut self, user: DbUid) -> Result<bool, DbError> {
            Ok(lock_row!(self, accounts::table.find(user), accounts::provider))
        }

        /// Stores an assignment with its first event, unless its user has
        /// `max_unfinished`, and notifies workers.
        async fn insert_assignment(
            &mut self,
            row: &NewRow,
            event: &EventRow,
            max_unfinished: u32,
        ) -> Result<AssignmentCreationOutcome, DbError> {
            if !self.lock_account(row.user_id).await? {
                return Ok(AssignmentCreationOutcome::Gone);
            }

            let unfinished_count: i64 = unfinished_of!(row.user_id).get_result(self).await?;
            if unfinished_count >= i64::from(max_unfinished) {
                return Ok(AssignmentCreationOutcome::TooMany);
            }

            diesel::insert_into(assignments::table).values(row).execute(self).await?;
            self.append(std::slice::from_ref(event), 1).await?;
            self.notify_processes(QUEUED).await?;

            Ok(AssignmentCreationOutcome::Done)
        }
    }
}

/// Assignment that its user hands over.
pub(crate) struct HandOver {
    pub(crate) row: NewRow,
    pub(crate) event: EventRow,
    pub(crate) max_unfinished: u32,
}

impl HandOver {
    /// Stores the assignment. Retries on conflicts with increasing delays, as `in_tx!`
    /// does.
    pub(crate) async fn store(self, db: &Database) -> Result<AssignmentCreationOutcome, DbError> {
        let restriction = db.restriction(self.row.user_id.0);
        let mut retry_backoff = RetryBackoff::default();
        loop {
            let outcome = match db.writer().await? {
                Conn::Postgres(conn) => self.on_postgres(conn, restriction).await,
                Conn::Sqlite(mut conn) => {
                    let Self { row, event, max_unfinished } = &self;
                    conn.immediate_transaction(async |conn| {
                        conn.insert_assignment(row, event, *max_unfinished).await
                    })
                    .await
                }
            };

            match outcome {
                Err(err) if err.is_conflict() && retry_backoff.next().await => {}
                outcome => return outcome,
            }
        }
    }

    async fn on_postgres(
        &self,
        conn: Object<AsyncPostgres>,
        restriction: Option<Uuid>,
    ) -> Result<AssignmentCreationOutcome, DbError> {
        let conn = Pipelined::new(conn);
        let outcome = match self.begin(&conn, restriction).await {
            Ok(AssignmentCreationOutcome::Done) => self.write(&conn, restriction).await,
            refused => refused,
        };

        if !matches!(outcome, Ok(AssignmentCreationOutcome::Done))
            && let Err(err) = conn.roll_back().await
        {
            return outcome.and(Err(err.into()));
        }

        conn.release();

        outcome
    }

    /// Begins, locks the account and counts: a statement sees what was committed before
    /// it, so that the lock comes first.
    async fn begin(
        &self,
        conn: &Pipelined,
        restriction: Option<Uuid>,
    ) -> Result<AssignmentCreationOutcome, DbError> {
        let shared = conn.shared()?;
        let (began, restricted, exists, unfinished) = join!(
            conn.begin(),
            conn.restrict_to(restriction),
            lock_account(shared, self.row.user_id),
            count_unfinished(shared, self.row.user_id),
        );

        began?;
        restricted?;

        Ok(match (exists?, unfinished?) {
            (false, _) => AssignmentCreationOutcome::Gone,
            (true, it) if it >= i64::from(self.max_unfinished) => {
                AssignmentCreationOutcome::TooMany
            }
            (true, _) => AssignmentCreationOutcome::Done,
        })
    }

    /// Writes, notifies workers and commits.
    async fn write(
        &self,
        conn: &Pipelined,
        restriction: Option<Uuid>,
    ) -> Result<AssignmentCreationOutcome, DbError> {
        let event = self.event.with_ordinal(1);
        let mut writes = CteBatch::new();
        writes.add(diesel::insert_into(assignments::table).values(&self.row));

        if restriction.is_some() {
            // The policy of events does not see an assignment of the same statement.
            writes.write(conn.shared()?).await?;
            writes = CteBatch::new();
        }

        writes.add(diesel::insert_into(assignment_events::table).values(&event));
        let (written, notified, committed) =
            join!(writes.write(conn.shared()?), conn.notify(QUEUED), conn.commit());
        written?;
        notified?;
        committed?;

        Ok(AssignmentCreationOutcome::Done)
    }
}

async fn lock_account(mut conn: &AsyncPostgres, user: DbUid) -> QueryResult<bool> {
    let account = accounts::table.find(user).select(accounts::id).for_no_key_update();
    Ok(account.execute(&mut conn).await? == 1)
}

async fn count_unfinished(mut conn: &AsyncPostgres, user: DbUid) -> QueryResult<i64> {
    unfinished_of!(user).get_result(&mut conn).await
}
