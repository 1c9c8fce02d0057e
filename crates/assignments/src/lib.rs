//! Assignments: long tasks that users hand over and collect later.
//!
//! An assignment is worked on by a run, step by step. The database holds how far
//! it is; a workflow engine only decides when a worker advances it.

mod assignment;
mod envelope;
mod event;
mod skill;
mod status;
mod truncation;

pub use assignment::{Assignment, AssignmentDetails};
pub use envelope::{EnvelopeError, InputEnvelope, InputItem};
pub use event::{AssignmentEvent, EventKind, MessageAuthor, NewEvent, StepDetail};
pub use skill::{EntityType, Skill, SkillMode, SkillStep};
pub use status::AssignmentStatus;
pub use truncation::{MAX_ERROR_CHARS, MAX_MESSAGE_CHARS, TRUNCATION_MARKER, truncated};
