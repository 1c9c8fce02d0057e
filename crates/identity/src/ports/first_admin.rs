//! Port of creating the first administrator.

use async_trait::async_trait;
use pia_kernel::{Secret, SideEffects, Unavailable};

use super::{NewAccount, SeatLimits};

/// Outcome of creating the first administrator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstAdminOutcome {
    /// The account is stored.
    Stored,
    /// Server has an active administrator.
    AlreadySetUp,
    /// An account with this address was there before.
    EmailTaken,
    /// The licence has no seat left for it.
    SeatsTaken,
}

/// Store that knows whether the server has an administrator.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait FirstAdminStore: Send + Sync {
    /// Returns whether there is an active administrator.
    async fn exists(&self) -> Result<bool, Unavailable>;

    /// Stores an administrator's account and its effects, if there is no
    /// active administrator. However many do so at once, one is stored.
    async fn create_first_admin(
        &self,
        new: NewAccount,
        limits: SeatLimits,
        effects: SideEffects,
    ) -> Result<FirstAdminOutcome, Unavailable>;
}

/// The token that shows that somebody can read the server's files.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait SetupToken: Send + Sync {
    /// Returns whether this is the token, in time that does not depend on the
    /// candidate.
    async fn is_right(&self, candidate: &Secret<String>) -> Result<bool, Unavailable>;

    /// The server has an administrator: unless something else waits for the
    /// token, it ends.
    async fn administered(&self);
}
