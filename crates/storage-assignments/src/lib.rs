//! Assignments in SQL: assignments with their events, the queue of their runs,
//! and operators.

mod assignment_rows;
mod assignments;
mod claiming;
mod contents;
mod event_rows;
mod operators;
mod redaction;
mod runs;
mod schedule_rows;
mod schedules;
mod step_outcome;
mod transition;
mod upkeep;

pub use assignments::SqlAssignments;
pub use operators::SqlOperators;
