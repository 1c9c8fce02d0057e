//! Ports of creating the first administrator; implemented in `storage-identity` and `server`.

use async_trait::async_trait;
use pia_kernel::{Secret, SideEffects, Unavailable};

use super::{NewAccount, SeatLimits};

/// Store of the first administrator.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait FirstAdminStore: Send + Sync {
    /// Returns whether there is an active administrator.
    async fn exists(&self) -> Result<bool, Unavailable>;

    /// Stores an administrator's account and its effects, if there is no active administrator. Of
    /// concurrent calls, one stores its account.
    async fn create_first_admin(
        &self,
        new: NewAccount,
        limits: SeatLimits,
        effects: SideEffects,
    ) -> Result<FirstAdminOutcome, Unavailable>;
}

/// Outcome of creating the first administrator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstAdminOutcome {
    /// Account was created, with its effects.
    Stored,
    /// Server has an active administrator.
    AlreadySetUp,
    /// Address has an account already.
    EmailTaken,
    /// Licence has no seat left.
    SeatsTaken,
}

/// Setup token, which proves access to the server's files.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait SetupToken: Send + Sync {
    /// Returns whether this is the token, in time independent of the candidate.
    async fn is_right(&self, candidate: &Secret<String>) -> Result<bool, Unavailable>;

    /// Records that the server has an administrator. The token ends unless something else still
    /// needs it.
    async fn record_administrator(&self);
}
