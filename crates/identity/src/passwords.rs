//! Passwords: rules, changes, resets and throttling of guesses.

pub(crate) mod changes;
pub(crate) mod resets;
pub(crate) mod rules;
pub(crate) mod throttle;
