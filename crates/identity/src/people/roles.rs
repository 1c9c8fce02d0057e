//! Administration of roles and of the active state of accounts.
//!
//! `activation` is for `scim/users.rs`, which changes attributes and the
//! active state in one transaction; its caller then calls `forget`.

use std::sync::Arc;

use pia_kernel::{AuditEntry, Clock, QueuedEmail, SideEffects, Timestamp, Unavailable, UserId};

use crate::people::role::Role;
use crate::ports::{
    ActivationChange, DeactivationOutcome, Member, ReactivationOutcome, RoleChangeOutcome,
    RoleStore, SeatLimits, Seats,
};
use crate::sessions::caller_cache::CallerCache;

/// Errors of changing an account.
#[derive(Debug, thiserror::Error)]
pub enum RoleError {
    /// Account does not exist.
    #[error("no such account")]
    Unknown,
    /// Account is the last active administrator's.
    #[error("this is the last active administrator; assign the role to another account first")]
    LastAdmin,
    /// Licence allows no further administrator.
    #[error("licence limit of administrators reached: {limit}")]
    AdminsTaken {
        /// Licensed number of active administrators.
        limit: u32,
    },
    /// Licence has no seat left.
    #[error("licence limit of active accounts reached: {limit}")]
    SeatsTaken {
        /// Licensed number of active accounts.
        limit: u32,
    },
    /// The store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Administration of roles.
///
/// The actor is only for the audit log; the surface checks the permission. `None` is the command
/// line.
#[derive(Clone)]
pub struct Roles {
    store: Arc<dyn RoleStore>,
    seats: Arc<dyn Seats>,
    caller_cache: CallerCache,
    clock: Arc<dyn Clock>,
}

impl Roles {
    /// Creates roles in this store, within `seats`; `caller_cache` is notified of changed accounts.
    pub fn new(
        store: Arc<dyn RoleStore>,
        seats: Arc<dyn Seats>,
        caller_cache: CallerCache,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { store, seats, caller_cache, clock }
    }

    /// Returns the account with this address.
    pub async fn member(&self, email: &str) -> Result<Member, RoleError> {
        self.store.member(email).await?.ok_or(RoleError::Unknown)
    }

    /// Returns the administrators, deactivated ones included.
    pub async fn admins(&self) -> Result<Vec<Member>, Unavailable> {
        self.store.admins().await
    }

    /// Replaces the role of an account.
    pub async fn grant(
        &self,
        by: Option<UserId>,
        user: UserId,
        role: Role,
    ) -> Result<(), RoleError> {
        let max = self.seats.admins();
        let effects = audit_effects(self.clock.now(), by, user, grant_action(role));
        let outcome = self.store.set_role(user, role, max, effects).await?;
        self.caller_cache.forget_user(user);

        match outcome {
            RoleChangeOutcome::Done => Ok(()),
            RoleChangeOutcome::Unknown => Err(RoleError::Unknown),
            RoleChangeOutcome::LastAdmin => Err(RoleError::LastAdmin),
            RoleChangeOutcome::AdminsTaken => {
                Err(RoleError::AdminsTaken { limit: max.unwrap_or_default() })
            }
        }
    }

    /// Deactivates an account, at once and until it is reactivated. Its data stays.
    pub async fn deactivate(&self, by: Option<UserId>, user: UserId) -> Result<(), RoleError> {
        let at = self.clock.now();
        let effects = deactivation_effects(at, by, user);
        let outcome = self.store.deactivate(user, at, effects).await?;
        self.caller_cache.forget_user(user);
        match outcome {
            DeactivationOutcome::Done => Ok(()),
            DeactivationOutcome::Unknown => Err(RoleError::Unknown),
            DeactivationOutcome::LastAdmin => Err(RoleError::LastAdmin),
        }
    }

    /// Reactivates an account. Its owner must sign in again.
    pub async fn reactivate(&self, by: Option<UserId>, user: UserId) -> Result<(), RoleError> {
        let limits = SeatLimits::from_seats(&*self.seats);
        let effects = reactivation_effects(self.clock.now(), by, user);
        let outcome = self.store.reactivate(user, limits, effects).await?;
        self.caller_cache.forget_user(user);

        match outcome {
            ReactivationOutcome::Done => Ok(()),
            ReactivationOutcome::Unknown => Err(RoleError::Unknown),
            ReactivationOutcome::SeatsTaken => {
                Err(RoleError::SeatsTaken { limit: limits.accounts.unwrap_or_default() })
            }
            ReactivationOutcome::AdminsTaken => {
                Err(RoleError::AdminsTaken { limit: limits.admins.unwrap_or_default() })
            }
        }
    }

    /// Returns a change that a store makes together with others. Call
    /// [`Roles::forget`] afterwards.
    pub(crate) fn activation(&self, user: UserId, active: bool) -> ActivationChange {
        let at = self.clock.now();
        if active {
            let limits = SeatLimits::from_seats(&*self.seats);
            ActivationChange::Reactivate(limits, reactivation_effects(at, None, user))
        } else {
            ActivationChange::Deactivate(deactivation_effects(at, None, user))
        }
    }

    /// Makes this instance read the user's state again before their next request.
    pub(crate) fn forget(&self, user: UserId) {
        self.caller_cache.forget_user(user);
    }
}

fn deactivation_effects(at: Timestamp, by: Option<UserId>, user: UserId) -> SideEffects {
    audit_effects(at, by, user, "account.deactivated")
        .and_mail(QueuedEmail::new("account-deactivated").to_user(at, user))
}

fn reactivation_effects(at: Timestamp, by: Option<UserId>, user: UserId) -> SideEffects {
    audit_effects(at, by, user, "account.reactivated")
}

/// Returns the audit entry of an administrative change of an account.
fn audit_effects(
    at: Timestamp,
    by: Option<UserId>,
    user: UserId,
    action: &'static str,
) -> SideEffects {
    AuditEntry { actor: by, subject: Some(user), ..AuditEntry::new(at, action) }.into()
}

/// Returns the audit action of a role; each has its own, so that auditors can search for it.
fn grant_action(role: Role) -> &'static str {
    match role {
        Role::User => "role.user_granted",
        Role::KbManager => "role.kb_manager_granted",
        Role::OrgManager => "role.org_manager_granted",
        Role::Admin => "role.admin_granted",
    }
}

#[cfg(test)]
mod tests;
