//! What sign-in asks of the account that an address belongs to.

use crate::ports::Credentials;

/// Who may be about to sign in, as of one moment.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Their account, and what is kept of its password.
    pub credentials: Credentials,
    /// Whether they signed in from the same network before.
    pub was_there_before: bool,
    /// Whether a second factor of theirs is on. To put one on or take it off
    /// counts up the account's epoch: no session begins without one that came
    /// meanwhile.
    pub has_factor: bool,
}
