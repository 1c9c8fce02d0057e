//! Contract tests of the storage of assignments, on every backend.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod assignments;
mod claim_plan;
mod fixture;
mod operators;
mod races;
mod random_walk;
mod row_security;
mod runs;
mod schedules;
mod upkeep;
mod webhooks;
