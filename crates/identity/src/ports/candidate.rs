//! Facts that sign-in needs about the account of an address.

use crate::ports::Credentials;

/// Account that may be about to sign in, as of one moment.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Their account, and what is stored of its password.
    pub credentials: Credentials,
    /// True if they signed in from the same network before.
    pub was_there_before: bool,
    /// True if a second factor of theirs is on. To put one on or take it off
    /// counts up the account's epoch: no session begins without one that came
    /// meanwhile.
    pub has_factor: bool,
}
