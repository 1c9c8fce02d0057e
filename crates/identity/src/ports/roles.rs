//! Ports of administering other people's accounts.

use async_trait::async_trait;
use pia_kernel::{SideEffects, Timestamp, Unavailable, UserId};

use super::Seats;
use crate::people::role::Role;

/// Maximum numbers of accounts that the licence allows; `None` where it sets no
/// limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SeatLimits {
    /// The most that may be active.
    pub accounts: Option<u32>,
    /// The most of them that may be administrators.
    pub admins: Option<u32>,
}

impl SeatLimits {
    /// The limits at this moment.
    pub fn from_seats(seats: &dyn Seats) -> Self {
        Self { accounts: seats.limit(), admins: seats.admins() }
    }
}

/// Somebody as who runs the server sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Account id.
    pub user: UserId,
    /// Their address, as they spelled it.
    pub email: String,
    /// Permissions beyond the account's own data.
    pub role: Role,
    /// Deactivation time; none while the account is active.
    pub deactivated_at: Option<Timestamp>,
    /// Time at which the address was verified; `None` if it is unverified.
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
pub enum RoleChange {
    /// User has the role, now or from before.
    Done,
    /// No such account.
    Unknown,
    /// User is the last active administrator.
    LastAdmin,
    /// Licence has no administrator left.
    AdminsTaken,
}

/// Outcome of deactivating an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deactivation {
    /// Account is inactive, now or from before.
    Done,
    /// No such account.
    Unknown,
    /// Account is the last active administrator's.
    LastAdmin,
}

/// Outcome of reactivating an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reactivation {
    /// Account is active, now or from before.
    Done,
    /// No such account.
    Unknown,
    /// Licence has no seat left.
    SeatsTaken,
    /// Account is an administrator's, and the licence has no administrator left.
    AdminsTaken,
}

/// Store of roles, and of which accounts are active.
///
/// However many change accounts at once, on any number of instances, the last
/// active administrator stays one, and no limit is passed. What changes nothing
/// leaves no effects.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait RoleStore: Send + Sync {
    /// Returns the account with this address, in any case, active or not.
    async fn member(&self, email: &str) -> Result<Option<Member>, Unavailable>;

    /// The administrators, those whose accounts are deactivated included.
    async fn admins(&self) -> Result<Vec<Member>, Unavailable>;

    /// Gives somebody a role instead of the one they have. Of active
    /// administrators there are `max_admins` at most.
    async fn set_role(
        &self,
        user: UserId,
        role: Role,
        max_admins: Option<u32>,
        effects: SideEffects,
    ) -> Result<RoleChange, Unavailable>;

    /// Deactivates an account. All that was begun with it ends: its sessions,
    /// sign-ins that wait for something, and links that were mailed.
    async fn deactivate(
        &self,
        user: UserId,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<Deactivation, Unavailable>;

    /// Makes an account active again, if there is a seat for it.
    async fn reactivate(
        &self,
        user: UserId,
        limits: SeatLimits,
        effects: SideEffects,
    ) -> Result<Reactivation, Unavailable>;
}
