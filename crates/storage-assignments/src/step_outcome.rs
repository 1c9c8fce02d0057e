//! Outcome of a step as columns of its assignment. `change_run` reads the held
//! row, seals outside of the transaction, and applies a `Transition` that is
//! guarded by fence and step.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use pia_assignments::{AssignmentStatus, Attempt, RunChange, RunClaim, RunOutcome};
use pia_kernel::{Timestamp, Unavailable, UserId};
use pia_sealing::PersonSeal;
use pia_storage::schema::assignments;
use pia_storage::{DbError, DbInstant, DbUid, on_conn};

use crate::assignments::SqlAssignments;
use crate::claiming::parse_texts;
use crate::contents::SealedText;
use crate::event_rows::EventRow;
use crate::transition::{AssignmentPatch, HeldRun, Transition, UnfinishedColumns};

/// Query of the run of a claim that still holds.
macro_rules! of_claim {
    ($claim:expr) => {
        assignments::table
            .find(DbUid($claim.id.0))
            .filter(assignments::fence.eq($claim.fence))
            .filter(assignments::worker_id.is_not_null())
            .filter(assignments::status.eq(AssignmentStatus::Running.name()))
    };
}

/// Run of a claim before a change.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = assignments)]
struct HeldRow {
    id: DbUid,
    user_id: DbUid,
    step_count: i32,
    failed_attempts: i32,
    #[diesel(embed)]
    unfinished: UnfinishedColumns,
}

impl HeldRow {
    /// Returns the columns that an outcome changes.
    fn patch(
        self,
        outcome: RunOutcome,
        at: Timestamp,
        seal: &PersonSeal,
    ) -> Result<AssignmentPatch, Unavailable> {
        let id = self.id;
        let mut unfinished = self.unfinished;
        let step_count = Some(self.step_count.saturating_add(1));
        Ok(match outcome {
            RunOutcome::Continued { output, tools } => {
                let json = SealedText::Outputs.open(seal, id, unfinished.outputs.take())?;
                let mut outputs = parse_texts(json.as_deref())?.unwrap_or_default();
                outputs.push(output);
                let sealed_outputs =
                    SealedText::Outputs.seal(seal, id, &format_texts(&outputs)?)?;
                unfinished.outputs = Some(sealed_outputs);

                AssignmentPatch {
                    step_count,
                    failed_attempts: Some(0),
                    tools: Some(format_texts(&tools)?),
                    ..AssignmentPatch::unfinished(at, unfinished)
                }
            }
            RunOutcome::Completed { artifact_json, artifact_text } => {
                let artifact_text = artifact_text
                    .map(|it| SealedText::ArtifactText.seal(seal, id, &it))
                    .transpose()?;
                AssignmentPatch {
                    step_count,
                    failed_attempts: Some(0),
                    artifact_json: Some(SealedText::ArtifactJson.seal(seal, id, &artifact_json)?),
                    artifact_text,
                    ..AssignmentPatch::ended(AssignmentStatus::Completed, at)
                }
            }
            RunOutcome::Progressed => AssignmentPatch::unfinished(at, unfinished),
            RunOutcome::Failed(failure) => AssignmentPatch::failed(id, &failure, at, seal)?,
            RunOutcome::Released { due_at, attempt } => {
                let failures = i32::from(attempt == Attempt::Failed);
                unfinished.due_at = Some(DbInstant(due_at));
                unfinished.worker_id = None;
                AssignmentPatch {
                    failed_attempts: Some(self.failed_attempts.saturating_add(failures)),
                    ..AssignmentPatch::unfinished(at, unfinished)
                }
            }
        })
    }
}

impl SqlAssignments {
    /// Returns whether a claim still holds.
    pub(crate) async fn holds_claim(&self, claim: RunClaim) -> Result<bool, DbError> {
        let query = of_claim!(claim).count();
        let count: i64 = on_conn!(self.all_rows.reader(), |conn| query.get_result(conn).await?)?;
        Ok(count > 0)
    }

    /// Ends a claim: any worker may claim the run from `due_at`.
    pub(crate) async fn release(&self, claim: RunClaim, due_at: Timestamp) -> Result<(), DbError> {
        let release_columns = (
            assignments::worker_id.eq(None::<DbUid>),
            assignments::due_at.eq(Some(DbInstant(due_at))),
        );
        let release = diesel::update(of_claim!(claim)).set(release_columns);
        on_conn!(self.all_rows.writer(), |conn| release.execute(conn).await?)?;
        Ok(())
    }

    /// Changes a run. The row that is read before the transaction cannot change
    /// while the claim holds.
    pub(crate) async fn change_run(
        &self,
        claim: RunClaim,
        change: RunChange,
    ) -> Result<bool, Unavailable> {
        let row: Option<HeldRow> = on_conn!(self.all_rows.reader(), |conn| {
            of_claim!(claim).select(HeldRow::as_select()).first(conn).await.optional()?
        })?;
        let Some(row) = row else { return Ok(false) };
        let Some(seal) = self.sealer.seal_for(UserId(row.user_id.0)).await? else {
            return Ok(false);
        };

        let RunChange { at, tokens, abandoned, events, outcome } = change;
        let id = row.id;
        let step_count = row.step_count;
        let events = events
            .into_iter()
            .map(|it| EventRow::new(id, it, at, Some(&seal)))
            .collect::<Result<Vec<_>, _>>()?;
        let transition = Transition {
            id,
            from: vec![AssignmentStatus::Running],
            held: Some(HeldRun { fence: claim.fence, step_count }),
            events,
            patch: row.patch(outcome, at, &seal)?,
            tokens_spent: tokens,
            tokens_abandoned: abandoned,
        };

        Ok(self.apply(&transition).await?)
    }
}

/// Formats a list of texts.
fn format_texts(texts: &[String]) -> Result<String, Unavailable> {
    serde_json::to_string(texts).map_err(|err| Unavailable::new("texts", err))
}
