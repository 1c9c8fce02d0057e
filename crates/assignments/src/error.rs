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

/// Reasons why a schedule is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleError {
    /// Assignments of the schedule would not be accepted.
    #[error(transparent)]
    Assignment(#[from] EnqueueError),
    /// Cron expression is not valid.
    #[error("Enter five fields, such as 0 9 * * MON.")]
    Cron,
    /// Cron expression has no time.
    #[error("This expression never matches a date.")]
    NoTime,
    /// Time zone has no such name.
    #[error("Unknown time zone. Use an IANA id such as Europe/Berlin.")]
    TimeZone,
    /// User has as many schedules as are permitted.
    #[error("You can have up to 20 schedules.")]
    TooMany,
    /// Schedule does not exist, or belongs to someone else; or the account no
    /// longer exists.
    #[error("no such schedule")]
    NotFound,
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
    /// Operator was changed since the caller read it.
    #[error("the operator was changed in the meantime")]
    Stale,
    /// Another operator has a skill of this name.
    #[error("the name of the skill is in use")]
    NameTaken,
    /// One of the groups does not exist.
    #[error("no such group")]
    UnknownGroup,
    /// Operator is one that the server ships.
    #[error("the skill is built in")]
    BuiltIn,
    /// Field is not valid, for the reason that the text states.
    #[error("{1}")]
    Invalid(OperatorField, &'static str),
    /// Store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Field of an operator that is not valid. Steps are counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperatorField {
    /// Name of the operator.
    Name,
    /// Name of its skill, or the skill itself.
    Skill,
    /// Steps of the skill.
    Steps,
    /// Title of a step.
    StepTitle(usize),
    /// Instructions of a step.
    StepInstructions(usize),
    /// Maximum output of a step.
    StepOutput(usize),
    /// URL of the webhook.
    WebhookUrl,
}
