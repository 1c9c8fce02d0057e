//! Facts about an account that sign-in needs.

use crate::ports::Credentials;

/// Account that may be about to sign in, at one moment.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Account and its password hash.
    pub credentials: Credentials,
    /// True if it was signed in to from the same network before.
    pub was_there_before: bool,
    /// True if a second factor is on. Enabling or disabling a factor increments the account's
    /// epoch, so that a sign-in that was checked before starts no session.
    pub has_factor: bool,
}
