//! Passwords: their rules, changes and resets, and what slows guessing.

pub(crate) mod changes;
pub(crate) mod resets;
pub(crate) mod rules;
pub(crate) mod throttle;
