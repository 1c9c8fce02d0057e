//! Upkeep of assignments in SQL: time limits and retention.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_assignments::{AssignmentStatus, EventKind, NewEvent, RunFailure};
use pia_kernel::{AssignmentId, Timestamp, Unavailable, UserId};
use pia_storage::schema::assignments;
use pia_storage::{DbInstant, DbUid, in_tx, on_conn};

use crate::assignments::SqlAssignments;
use crate::event_rows::EventRow;
use crate::redaction::RedactAssignments;
use crate::transition::{AssignmentPatch, Transition};

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

/// Failure of an assignment that its worker does not report.
pub(crate) struct ForcedFailure<'a> {
    pub(crate) id: AssignmentId,
    pub(crate) user: UserId,
    pub(crate) failure: &'a RunFailure,
    pub(crate) at: Timestamp,
}

impl SqlAssignments {
    pub(crate) async fn expire_runs(
        &self,
        started_before: Timestamp,
        failure: &RunFailure,
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
            let forced = ForcedFailure { id, user: UserId(user.0), failure, at: now };
            if self.fail(forced, AssignmentStatus::Running).await? {
                expired_ids.push(id);
            }
        }

        Ok(expired_ids)
    }

    /// Makes an assignment `Failed`, if its status is `from`.
    pub(crate) async fn fail(
        &self,
        forced: ForcedFailure<'_>,
        from: AssignmentStatus,
    ) -> Result<bool, Unavailable> {
        let ForcedFailure { id, user, failure, at } = forced;
        let Some(seal) = self.sealer.seal_for(user).await? else { return Ok(false) };
        let patch = AssignmentPatch::failed(DbUid(id.0), failure, at, &seal)?;
        let event = NewEvent::once(EventKind::Failed, &failure.message);
        let event_row = EventRow::new(DbUid(id.0), event, at, Some(&seal))?;
        let end = Transition::end(id, AssignmentStatus::Failed, patch, event_row);
        Ok(self.apply(&Transition { from: vec![from], ..end }).await?)
    }

    pub(crate) async fn redact_ended(
        &self,
        before: Timestamp,
        now: Timestamp,
        event: &NewEvent,
        limit: u32,
    ) -> Result<usize, Unavailable> {
        let ended_query =
            ended_before!(before, limit).filter(assignments::plaintext_dropped_at.is_null());
        let ids: Vec<DbUid> =
            on_conn!(self.all_rows.reader(), |conn| ended_query.load(conn).await?)?;
        let row = |id| Ok((id, EventRow::new(id, event.clone(), now, None)?));
        let events = ids.into_iter().map(row).collect::<Result<Vec<_>, Unavailable>>()?;
        if events.is_empty() {
            return Ok(0);
        }

        let at = DbInstant(now);

        in_tx!(self.all_rows, async |conn| { conn.redact(&events, at).await })
    }

    pub(crate) async fn delete_ended(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<usize, Unavailable> {
        let ended_query = ended_before!(before, limit);
        let ids: Vec<DbUid> =
            on_conn!(self.all_rows.reader(), |conn| ended_query.load(conn).await?)?;
        if ids.is_empty() {
            return Ok(0);
        }
        let delete = diesel::delete(assignments::table.filter(assignments::id.eq_any(ids)));
        Ok(on_conn!(self.all_rows.writer(), |conn| delete.execute(conn).await?)?)
    }
}
