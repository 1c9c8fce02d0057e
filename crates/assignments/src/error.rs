//! Errors of assignments.

use pia_kernel::Unavailable;

use crate::envelope::EnvelopeError;

/// Reasons why an assignment is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum EnqueueError {
    /// Input is refused.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// Skill does not exist, or is not granted to the user's group.
    #[error("the skill is not granted")]
    SkillNotGranted,
    /// User has as many unfinished assignments as are permitted.
    #[error("too many unfinished assignments")]
    TooMany,
    /// Account no longer exists.
    #[error("the account no longer exists")]
    Gone,
    /// Workflow engine did not start it; nothing is stored.
    #[error("the workflow could not be started")]
    NotStarted(#[source] Unavailable),
    /// Store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Reasons why an operator was not changed.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// Operator does not exist.
    #[error("no such operator")]
    NotFound,
    /// Another operator has a skill of this name.
    #[error("the name of the skill is in use")]
    NameTaken,
    /// One of the groups does not exist.
    #[error("no such group")]
    UnknownGroup,
    /// Operator is one that the server ships.
    #[error("the skill is built in")]
    BuiltIn,
    /// Skill is not valid; this says why.
    #[error("{0}")]
    Invalid(&'static str),
    /// Store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}
