//! Transitions of assignments, each one guarded statement: an update that names
//! the statuses it may follow and, for a worker, the fence and the step.
//!
//! No row means that another transition came first. The events and the webhook's
//! delivery follow in the same transaction, numbered by the count that the update
//! returned.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_assignments::{AssignmentStatus, RunFailure};
use pia_kernel::{AssignmentId, Timestamp, Unavailable};
use pia_sealing::PersonSeal;
use pia_storage::schema::assignments;
use pia_storage::{DbError, DbInstant, DbUid, connection_trait};

use crate::contents::SealedText;
use crate::event_rows::{AppendEvents, EventRow};
use crate::webhook_rows::QueueDelivery;

/// Change of an assignment with its events.
#[derive(Debug, Clone)]
pub(crate) struct Transition {
    pub(crate) id: DbUid,
    /// Statuses that it may follow.
    pub(crate) from: Vec<AssignmentStatus>,
    /// Claim that must still hold; `None` for a change by anyone but the worker.
    pub(crate) held: Option<HeldRun>,
    pub(crate) patch: AssignmentPatch,
    /// Tokens of accepted work.
    pub(crate) tokens_spent: i64,
    /// Tokens of other work.
    pub(crate) tokens_abandoned: i64,
    pub(crate) events: Vec<EventRow>,
}

/// State of a run that its worker knows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeldRun {
    pub(crate) fence: i64,
    pub(crate) step_count: i32,
}

/// Columns that a transition changes; `None` leaves the value as it is.
#[derive(Debug, Clone, AsChangeset)]
#[diesel(table_name = assignments)]
pub(crate) struct AssignmentPatch {
    pub(crate) updated_at: DbInstant,
    pub(crate) status: Option<String>,
    pub(crate) step_count: Option<i32>,
    pub(crate) failed_attempts: Option<i32>,
    pub(crate) completed_at: Option<DbInstant>,
    pub(crate) tools: Option<String>,
    pub(crate) artifact_json: Option<Vec<u8>>,
    pub(crate) artifact_text: Option<Vec<u8>>,
    pub(crate) error_code: Option<String>,
    pub(crate) error_message: Option<Vec<u8>>,
    #[diesel(embed)]
    pub(crate) unfinished: UnfinishedColumns,
}

/// Columns that only an unfinished assignment has; a transition writes all.
#[derive(Debug, Clone, Default, Queryable, Selectable, AsChangeset)]
#[diesel(table_name = assignments, treat_none_as_null = true)]
pub(crate) struct UnfinishedColumns {
    pub(crate) due_at: Option<DbInstant>,
    pub(crate) worker_id: Option<DbUid>,
    pub(crate) outputs: Option<Vec<u8>>,
}

impl AssignmentPatch {
    /// Returns the columns of an assignment that goes on.
    pub(crate) fn unfinished(at: Timestamp, unfinished: UnfinishedColumns) -> Self {
        Self {
            updated_at: DbInstant(at),
            status: None,
            step_count: None,
            failed_attempts: None,
            completed_at: None,
            tools: None,
            artifact_json: None,
            artifact_text: None,
            error_code: None,
            error_message: None,
            unfinished,
        }
    }

    /// Returns the columns of an assignment that ends.
    pub(crate) fn ended(status: AssignmentStatus, at: Timestamp) -> Self {
        Self {
            status: Some(status.name().to_owned()),
            completed_at: Some(DbInstant(at)),
            ..Self::unfinished(at, UnfinishedColumns::default())
        }
    }

    /// Returns the columns of an assignment that failed.
    pub(crate) fn failed(
        id: DbUid,
        failure: &RunFailure,
        at: Timestamp,
        seal: &PersonSeal,
    ) -> Result<Self, Unavailable> {
        Ok(Self {
            error_code: Some(failure.code.name().to_owned()),
            error_message: Some(SealedText::ErrorMessage.seal(seal, id, &failure.message)?),
            ..Self::ended(AssignmentStatus::Failed, at)
        })
    }
}

impl Transition {
    /// Creates the transition of an assignment to its end.
    pub(crate) fn end(
        id: AssignmentId,
        to: AssignmentStatus,
        patch: AssignmentPatch,
        event: EventRow,
    ) -> Self {
        Self {
            id: DbUid(id.0),
            from: to.predecessors(),
            held: None,
            patch,
            tokens_spent: 0,
            tokens_abandoned: 0,
            events: vec![event],
        }
    }
}

connection_trait! {
    /// Connection that can change assignments.
    pub(crate) trait ChangeAssignment {
        /// Changes an assignment. Returns false if its status has changed, or the
        /// claim is lost.
        async fn transition(&mut self, change: &Transition) -> Result<bool, DbError> {
            let from: Vec<&str> = change.from.iter().map(|it| it.name()).collect();
            let mut update = diesel::update(assignments::table)
                .into_boxed()
                .filter(assignments::id.eq(change.id))
                .filter(assignments::status.eq_any(from));

            if let Some(held) = change.held {
                update = update
                    .filter(assignments::worker_id.is_not_null())
                    .filter(assignments::fence.eq(held.fence))
                    .filter(assignments::step_count.eq(held.step_count));
            }

            let count = i32::try_from(change.events.len()).unwrap_or(i32::MAX);
            let values = (
                &change.patch,
                assignments::tokens_spent.eq(assignments::tokens_spent + change.tokens_spent),
                assignments::tokens_abandoned
                    .eq(assignments::tokens_abandoned + change.tokens_abandoned),
                assignments::event_count.eq(assignments::event_count + count),
            );
            let update = update.set(values).returning(assignments::event_count);
            let Some(last) = update.get_result::<i32>(self).await.optional()? else {
                return Ok(false);
            };

            self.append(&change.events, last).await?;

            if change.patch.completed_at.is_some() {
                self.queue_delivery(change.id).await?;
            }

            Ok(true)
        }
    }
}
