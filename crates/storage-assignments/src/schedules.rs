//! Schedules in SQL.
//!
//! A schedule that is switched off has no `next_at`, and is never due. `start`
//! moves `next_at` with the guard that it is unchanged, and hands the assignment
//! over by `insert_assignment` in the same transaction. A row that cannot be read
//! is switched off by `find_due`, and left out of its user's list.

use async_trait::async_trait;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;
use pia_assignments::{
    AssignmentCreationOutcome, DueSchedule, NewAssignment, Schedule, ScheduleCreationOutcome,
    ScheduleEntry, ScheduleStart, ScheduleStartOutcome, ScheduleStore, SkipReason,
};
use pia_kernel::{AssignmentId, Cursor, PageRequest, ScheduleId, Timestamp, Unavailable, UserId};
use pia_storage::schema::assignment_schedules;
use pia_storage::{DbError, DbInstant, DbUid, in_tx, in_user_tx, on_conn, on_user_rows};

use crate::assignment_rows::NewRow;
use crate::assignments::SqlAssignments;
use crate::event_rows::EventRow;
use crate::handing_over::InsertAssignment;
use crate::schedule_rows::{NewScheduleRow, ScheduleEntryRow, ScheduleRow};

/// Query of a schedule of a user.
macro_rules! own_schedule {
    ($user:expr, $id:expr) => {
        assignment_schedules::table
            .find(DbUid($id.0))
            .filter(assignment_schedules::user_id.eq(DbUid($user.0)))
    };
}

/// Rows of an assignment that is handed over, with its first event.
struct AssignmentRows {
    assignment: NewRow,
    event: EventRow,
}

#[async_trait]
impl ScheduleStore for SqlAssignments {
    async fn list(&self, user: UserId) -> Result<Vec<Schedule>, Unavailable> {
        let own_schedules = assignment_schedules::table
            .filter(assignment_schedules::user_id.eq(DbUid(user.0)))
            .order((assignment_schedules::created_at, assignment_schedules::id));
        let rows: Vec<ScheduleRow> = on_user_rows!(self.db, user, |conn| {
            own_schedules.select(ScheduleRow::as_select()).load(conn).await?
        })?;
        let Some(seal) = self.sealer.seal_for(user).await? else { return Ok(Vec::new()) };

        let mut schedules = Vec::new();
        for row in rows {
            let id = row.id;
            match row.open(&seal) {
                Ok(schedule) => schedules.push(schedule),
                Err(err) => {
                    tracing::error!(error = %err, schedule = %id.0, "a schedule cannot be listed");
                }
            }
        }

        Ok(schedules)
    }

    async fn page(
        &self,
        user: Option<UserId>,
        page: PageRequest,
    ) -> Result<Vec<ScheduleEntry>, Unavailable> {
        let after = page.after.unwrap_or_else(Cursor::top);
        let owner = DbUid(user.map(|it| it.0).unwrap_or_default());
        let is_any = user.is_none().into_sql::<Bool>();
        // Ids sort by time.
        let schedules = assignment_schedules::table
            .filter(assignment_schedules::id.lt(DbUid(after.id)))
            .filter(assignment_schedules::user_id.eq(owner).or(is_any))
            .order(assignment_schedules::id.desc())
            .limit(page.limit.into());

        let rows: Vec<ScheduleEntryRow> = on_conn!(self.all_rows.reader(), |conn| {
            schedules.select(ScheduleEntryRow::as_select()).load(conn).await?
        })?;

        Ok(rows.into_iter().map(Into::into).collect())
    }

    async fn create(
        &self,
        user: UserId,
        schedule: Schedule,
        max: u32,
    ) -> Result<ScheduleCreationOutcome, Unavailable> {
        let Some(seal) = self.sealer.seal_for(user).await? else {
            return Ok(ScheduleCreationOutcome::Gone);
        };

        let row = NewScheduleRow::new(user, &schedule, &seal)?;
        let own_schedules = assignment_schedules::table
            .filter(assignment_schedules::user_id.eq(DbUid(user.0)))
            .count();

        in_user_tx!(self.db, user, async |conn| {
            // Locked before the count, so that the limit holds for concurrent calls.
            if !conn.lock_account(DbUid(user.0)).await? {
                return Ok(ScheduleCreationOutcome::Gone);
            }
            if own_schedules.get_result::<i64>(conn).await? >= i64::from(max) {
                return Ok(ScheduleCreationOutcome::TooMany);
            }
            diesel::insert_into(assignment_schedules::table).values(&row).execute(conn).await?;
            Ok(ScheduleCreationOutcome::Done)
        })
    }

    async fn update(
        &self,
        user: UserId,
        schedule: Schedule,
    ) -> Result<Option<Schedule>, Unavailable> {
        let Some(seal) = self.sealer.seal_for(user).await? else { return Ok(None) };
        let id = schedule.id;
        let row = NewScheduleRow::new(user, &schedule, &seal)?;
        let updated_row: Option<ScheduleRow> =
            in_user_tx!(self.db, user, async |conn| -> Result<Option<ScheduleRow>, DbError> {
                Ok(diesel::update(own_schedule!(user, id))
                    .set(&row)
                    .returning(ScheduleRow::as_returning())
                    .get_result(conn)
                    .await
                    .optional()?)
            })?;
        Ok(updated_row.map(|it| it.open(&seal)).transpose()?)
    }

    async fn delete(&self, user: UserId, id: ScheduleId) -> Result<bool, Unavailable> {
        in_user_tx!(self.db, user, async |conn| {
            Ok(diesel::delete(own_schedule!(user, id)).execute(conn).await? == 1)
        })
    }

    async fn find_due(&self, now: Timestamp, limit: u32) -> Result<Vec<DueSchedule>, Unavailable> {
        let query = assignment_schedules::table
            .filter(assignment_schedules::next_at.le(DbInstant(now)))
            .order((assignment_schedules::next_at, assignment_schedules::id))
            .limit(i64::from(limit));

        let rows: Vec<ScheduleRow> = on_conn!(self.all_rows.reader(), |conn| {
            query.select(ScheduleRow::as_select()).load(conn).await?
        })?;

        let mut due_schedules = Vec::new();
        for row in rows {
            let id = row.id;
            let seal = self.sealer.seal_for(row.user()).await?;
            match row.open_due(seal.as_ref()) {
                Ok(schedule) => due_schedules.push(schedule),
                Err(err) => self.switch_off(id, &err).await?,
            }
        }

        Ok(due_schedules)
    }

    async fn start(
        &self,
        start: ScheduleStart,
        max_unfinished: u32,
    ) -> Result<ScheduleStartOutcome, Unavailable> {
        let id = DbUid(start.schedule.0);
        let due_at = Some(DbInstant(start.due_at));
        let next_start = assignment_schedules::next_at.eq(start.next_at.map(DbInstant));

        let handed_over = match start.assignment {
            Ok(assignment) => {
                let Some(rows) = self.rows_of(assignment).await? else {
                    return Ok(ScheduleStartOutcome::Lost);
                };
                Ok(rows)
            }
            Err(reason) => Err(reason),
        };

        in_tx!(self.all_rows, async |conn| {
            // Accounts are locked before their rows everywhere.
            if let Ok(rows) = &handed_over
                && !conn.lock_account(rows.assignment.user_id).await?
            {
                return Ok(ScheduleStartOutcome::Lost);
            }

            let due_schedule = assignment_schedules::table
                .find(id)
                .filter(assignment_schedules::next_at.eq(due_at));
            if diesel::update(due_schedule).set(next_start).execute(conn).await? == 0 {
                return Ok(ScheduleStartOutcome::Lost);
            }

            let outcome = match &handed_over {
                Ok(AssignmentRows { assignment, event }) => {
                    match conn.insert_assignment(assignment, event, max_unfinished).await? {
                        AssignmentCreationOutcome::Done => Ok(AssignmentId(assignment.id.0)),
                        AssignmentCreationOutcome::TooMany => Err(SkipReason::TooManyAssignments),
                        AssignmentCreationOutcome::Gone => return Ok(ScheduleStartOutcome::Lost),
                    }
                }
                Err(reason) => Err(*reason),
            };

            let last_start = (
                assignment_schedules::last_due_at.eq(due_at),
                assignment_schedules::last_assignment_id.eq(outcome.ok().map(|it| DbUid(it.0))),
                assignment_schedules::last_skip.eq(outcome.err().map(SkipReason::code)),
            );
            diesel::update(assignment_schedules::table.find(id))
                .set(last_start)
                .execute(conn)
                .await?;
            Ok(outcome.map_or(ScheduleStartOutcome::Skipped, ScheduleStartOutcome::Done))
        })
    }
}

impl SqlAssignments {
    /// Switches a schedule off that cannot be read: it must not delay others.
    async fn switch_off(&self, id: DbUid, err: &DbError) -> Result<(), DbError> {
        tracing::error!(error = %err, schedule = %id.0, "a schedule was switched off");
        let off_columns = (
            assignment_schedules::last_due_at.eq(assignment_schedules::next_at),
            assignment_schedules::last_assignment_id.eq(None::<DbUid>),
            assignment_schedules::last_skip.eq(Some(SkipReason::Unreadable.code())),
            assignment_schedules::next_at.eq(None::<DbInstant>),
        );
        let switch_off = diesel::update(assignment_schedules::table.find(id)).set(off_columns);
        on_conn!(self.all_rows.writer(), |conn| switch_off.execute(conn).await?)?;
        Ok(())
    }

    /// Returns the sealed rows of an assignment; `None` if its user has no key any
    /// more.
    async fn rows_of(
        &self,
        assignment: NewAssignment,
    ) -> Result<Option<AssignmentRows>, Unavailable> {
        let Some(seal) = self.sealer.seal_for(assignment.user).await? else { return Ok(None) };
        let row = NewRow::new(&assignment, &seal)?;
        let event = EventRow::new(row.id, assignment.event, assignment.at, Some(&seal))?;
        Ok(Some(AssignmentRows { assignment: row, event }))
    }
}
