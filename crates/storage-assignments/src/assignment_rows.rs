//! Database rows of assignments: one to insert, one to list, one with contents.
//! Changes are `AssignmentPatch` in `transition.rs`, claims `ClaimedRow` in
//! `claiming.rs`.

use diesel::prelude::*;
use pia_assignments::{
    Assignment, AssignmentDetails, AssignmentEvent, AssignmentStatus, NewAssignment,
};
use pia_kernel::{AssignmentId, Unavailable, UserId};
use pia_sealing::PersonSeal;
use pia_storage::schema::assignments;
use pia_storage::{DbError, DbInstant, DbUid};

use crate::contents::SealedText;

/// Row of an assignment that is handed over.
#[derive(Debug, Clone, Insertable)]
#[diesel(table_name = assignments)]
pub(crate) struct NewRow {
    pub(crate) id: DbUid,
    pub(crate) user_id: DbUid,
    skill_name: String,
    mode: &'static str,
    status: &'static str,
    step_count: i32,
    tokens_spent: i64,
    tokens_abandoned: i64,
    created_at: DbInstant,
    updated_at: DbInstant,
    due_at: Option<DbInstant>,
    fence: i64,
    failed_attempts: i32,
    restarts: i32,
    event_count: i32,
    skill: String,
    input: Option<Vec<u8>>,
}

/// Assignment as it is listed.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = assignments)]
pub(crate) struct AssignmentRow {
    id: DbUid,
    user_id: DbUid,
    skill_name: String,
    mode: String,
    status: String,
    step_count: i32,
    tokens_spent: i64,
    tokens_abandoned: i64,
    created_at: DbInstant,
    updated_at: DbInstant,
    started_at: Option<DbInstant>,
    completed_at: Option<DbInstant>,
    error_code: Option<String>,
    pub(crate) error_message: Option<Vec<u8>>,
}

/// Assignment with its contents.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = assignments)]
pub(crate) struct DetailsRow {
    #[diesel(embed)]
    assignment: AssignmentRow,
    artifact_json: Option<Vec<u8>>,
    artifact_text: Option<Vec<u8>>,
    plaintext_dropped_at: Option<DbInstant>,
}

impl NewRow {
    /// Creates the row of an assignment with one event.
    pub(crate) fn new(new: &NewAssignment, seal: &PersonSeal) -> Result<Self, Unavailable> {
        let id = DbUid(new.id.0);
        let at = DbInstant(new.at);
        let skill =
            serde_json::to_string(&new.skill).map_err(|err| Unavailable::new("a skill", err))?;
        Ok(Self {
            id,
            user_id: DbUid(new.user.0),
            skill_name: new.skill.name.clone(),
            mode: new.skill.mode.name(),
            status: AssignmentStatus::Queued.name(),
            step_count: 0,
            tokens_spent: 0,
            tokens_abandoned: 0,
            created_at: at,
            updated_at: at,
            due_at: Some(at),
            fence: 0,
            failed_attempts: 0,
            restarts: 0,
            event_count: 1,
            skill,
            input: Some(SealedText::Input.seal(seal, id, &new.input)?),
        })
    }
}

impl AssignmentRow {
    /// Opens the assignment as it is listed. A message that cannot be opened must
    /// not make the whole list fail.
    pub(crate) fn open_listed(mut self, seal: Option<&PersonSeal>) -> Result<Assignment, DbError> {
        let id = self.id;
        let sealed_message = self.error_message.take();
        let message = match seal.map(|it| SealedText::ErrorMessage.open(it, id, sealed_message)) {
            Some(Ok(message)) => message,
            Some(Err(err)) => {
                let error = &err as &dyn std::error::Error;
                tracing::error!(error, assignment = %id.0, "an error message could not be decrypted");
                None
            }
            None => None,
        };
        self.with_message(message)
    }

    fn with_message(self, error_message: Option<String>) -> Result<Assignment, DbError> {
        let status = AssignmentStatus::from_name(&self.status);
        Ok(Assignment {
            id: AssignmentId(self.id.0),
            user: UserId(self.user_id.0),
            skill: self.skill_name,
            mode: self.mode,
            status: status.ok_or(DbError::Unreadable("assignments.status"))?,
            step_count: self.step_count,
            tokens_spent: self.tokens_spent,
            tokens_abandoned: self.tokens_abandoned,
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
            started_at: self.started_at.map(|it| it.0),
            completed_at: self.completed_at.map(|it| it.0),
            error_code: self.error_code,
            error_message,
        })
    }
}

impl DetailsRow {
    /// Opens the assignment with its contents.
    pub(crate) fn open(
        mut self,
        events: Vec<AssignmentEvent>,
        seal: &PersonSeal,
    ) -> Result<AssignmentDetails, Unavailable> {
        let id = self.assignment.id;
        let sealed_message = self.assignment.error_message.take();
        let message = SealedText::ErrorMessage.open(seal, id, sealed_message)?;
        Ok(AssignmentDetails {
            assignment: self.assignment.with_message(message)?,
            artifact_json: SealedText::ArtifactJson.open(seal, id, self.artifact_json)?,
            artifact_text: SealedText::ArtifactText.open(seal, id, self.artifact_text)?,
            plaintext_dropped_at: self.plaintext_dropped_at.map(|it| it.0),
            events,
        })
    }
}
