//! Port of administering other users' accounts; implemented in `storage-identity`.

use async_trait::async_trait;
use pia_kernel::{SideEffects, Timestamp, Unavailable, UserId};

use super::Seats;
use crate::people::role::Role;

/// Store of roles, of the active state of accounts and of what secures them.
///
/// Under concurrency, across all instances, one active administrator remains, and no limit is
/// exceeded. A change without a difference writes no effects.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait RoleStore: Send + Sync {
    /// Returns the account with this address, case-insensitively, active or not.
    async fn member(&self, email: &str) -> Result<Option<Member>, Unavailable>;

    /// Returns the administrators, deactivated ones included.
    async fn admins(&self) -> Result<Vec<Member>, Unavailable>;

    /// Counts the active administrators with a password that have neither an enabled
    /// authenticator app nor a passkey.
    async fn count_admins_without_factor(&self) -> Result<u64, Unavailable>;

    /// Replaces the role of an account. At most `max_admins` administrators are active.
    async fn set_role(
        &self,
        user: UserId,
        role: Role,
        max_admins: Option<u32>,
        effects: SideEffects,
    ) -> Result<RoleChangeOutcome, Unavailable>;

    /// Deactivates an account. Its sessions, pending sign-ins and emailed links end.
    async fn deactivate(
        &self,
        user: UserId,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<DeactivationOutcome, Unavailable>;

    /// Reactivates an account, if a seat is available.
    async fn reactivate(
        &self,
        user: UserId,
        limits: SeatLimits,
        effects: SideEffects,
    ) -> Result<ReactivationOutcome, Unavailable>;

    /// Ends the sessions and pending sign-ins of an account. Returns whether the account exists.
    async fn end_sessions(&self, user: UserId, effects: SideEffects) -> Result<bool, Unavailable>;

    /// Disables the second factor of an account, and ends its sessions and pending sign-ins.
    /// Returns whether a factor was on.
    async fn reset_factor(&self, user: UserId, effects: SideEffects) -> Result<bool, Unavailable>;
}

/// Maximum numbers of accounts that the licence allows; `None` where it sets no
/// limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SeatLimits {
    /// Maximum number of active accounts.
    pub accounts: Option<u32>,
    /// Maximum number of active administrators.
    pub admins: Option<u32>,
}

impl SeatLimits {
    /// Returns the limits of the current licence.
    pub fn from_seats(seats: &dyn Seats) -> Self {
        Self { accounts: seats.limit(), admins: seats.admins() }
    }
}

/// An account from the administrators' view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Account that is administered.
    pub user: UserId,
    /// Email address, as spelled by the user.
    pub email: String,
    /// Permissions beyond the account's own data.
    pub role: Role,
    /// Deactivation time; `None` while the account is active.
    pub deactivated_at: Option<Timestamp>,
    /// Time of the address's verification; `None` if it is unverified.
    pub email_verified_at: Option<Timestamp>,
}

impl Member {
    /// Returns whether the account is an active administrator's.
    pub fn is_active_admin(&self) -> bool {
        self.role == Role::Admin && self.deactivated_at.is_none()
    }
}

/// Outcome of assigning a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoleChangeOutcome {
    /// User has the role, now or from before.
    Done,
    /// Account does not exist.
    Unknown,
    /// User is the last active administrator.
    LastAdmin,
    /// Licence allows no further administrator.
    AdminsTaken,
}

/// Outcome of deactivating an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeactivationOutcome {
    /// Account is inactive, now or from before.
    Done,
    /// Account does not exist.
    Unknown,
    /// Account is the last active administrator's.
    LastAdmin,
}

/// Outcome of reactivating an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReactivationOutcome {
    /// Account is active, now or from before.
    Done,
    /// Account does not exist.
    Unknown,
    /// Licence has no seat left.
    SeatsTaken,
    /// Account is an administrator's, and the licence allows no further administrator.
    AdminsTaken,
}
