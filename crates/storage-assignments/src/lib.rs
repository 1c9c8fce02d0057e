//! Assignments in SQL: assignments with their events, the queue of their runs,
//! operators, and webhooks.
//!
//! `SqlAssignments` implements three ports: `assignments.rs` for users, `runs.rs`
//! for workers, `schedules.rs` for schedules. Read `handing_over.rs` (how a row
//! begins), `claiming.rs` (who works on it) and `transition.rs` (each change
//! after that). Contents are sealed by `contents.rs` only.

mod assignment_rows;
mod assignments;
mod claiming;
mod contents;
mod event_rows;
mod forced_failure;
mod handing_over;
mod operators;
mod redaction;
mod runs;
mod schedule_rows;
mod schedules;
mod step_outcome;
mod transition;
mod webhook_rows;
mod webhooks;

pub use assignments::SqlAssignments;
pub use operators::SqlOperators;
pub use webhooks::SqlWebhooks;
