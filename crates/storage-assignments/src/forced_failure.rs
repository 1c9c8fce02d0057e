//! Failures of assignments that no worker reports.

use pia_assignments::{AssignmentStatus, EventKind, NewEvent, RunFailure};
use pia_kernel::{AssignmentId, Timestamp, Unavailable, UserId};
use pia_storage::DbUid;

use crate::assignments::SqlAssignments;
use crate::event_rows::EventRow;
use crate::transition::{AssignmentPatch, Transition};

/// Failure of an assignment that its worker does not report.
pub(crate) struct ForcedFailure<'a> {
    pub(crate) id: AssignmentId,
    pub(crate) user: UserId,
    pub(crate) failure: &'a RunFailure,
    pub(crate) at: Timestamp,
}

impl SqlAssignments {
    /// Makes an assignment `Failed`. Returns false if its status is not `from`, or
    /// its user has no key any more.
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
}
