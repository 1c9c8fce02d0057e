//! Users that SCIM clients create, change and deactivate.
//!
//! The handlers are in `scim/src`, attributes and their validation in
//! `user.rs`. `change` applies attributes and the active state in one
//! transaction; `delete` deactivates first and then withdraws, so that no
//! withdrawn user is active.

use std::sync::Arc;

use pia_kernel::{Clock, LiveSetting, SideEffects, Unavailable, UserId};

use crate::people::registration::RegistrationRules;
use crate::people::roles::{RoleError, Roles};
use crate::ports::{
    NewScimUser, ScimUserChangeOutcome, ScimUserCreationOutcome, ScimUserEdit, ScimUserPage,
    ScimUserQuery, ScimUserStore, SeatLimits, Seats, TakenAttribute,
};
use crate::scim::user::{ScimUser, ScimUserAttributes, ScimUserChange};
use crate::violation::Violation;

/// Maximum number of users in one response.
pub const MAX_SCIM_PAGE: u32 = 200;

/// Changes of a user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScimUserUpdate {
    /// Changes of attributes, applied in this order.
    pub changes: Vec<ScimUserChange>,
    /// True to reactivate the account, false to deactivate it.
    pub is_active: Option<bool>,
}

/// Errors that prevent a user from being read or changed.
#[derive(Debug, thiserror::Error)]
pub enum ScimUserError {
    /// Attribute has an invalid value.
    #[error("{}", .0.message)]
    Invalid(Violation),
    /// Another user has the attribute.
    #[error("another user has this {0}")]
    Taken(TakenAttribute),
    /// Account does not exist, or no SCIM client sees it.
    #[error("there is no such user")]
    Unknown,
    /// User is not the expected version.
    #[error("the user was changed in the meantime")]
    Stale,
    /// Change of the email address of an account with an administrative role, or its
    /// reactivation.
    #[error(
        "provisioning cannot change the email address of an administrator or manager, \
         or reactivate them"
    )]
    Privileged,
    /// Operator has suspended the creation of accounts.
    #[error("no accounts can be created at the moment")]
    Suspended,
    /// Licence has no seat left.
    #[error("the licence allows {limit} active accounts, and all are in use")]
    SeatsTaken {
        /// Licensed number of active accounts.
        limit: u32,
    },
    /// Account is active or inactive as before.
    #[error(transparent)]
    Role(#[from] RoleError),
    /// The store did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

impl std::fmt::Display for TakenAttribute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::UserName => "userName",
            Self::ExternalId => "externalId",
            Self::Email => "email address",
        })
    }
}

/// Dependencies of [`ScimUsers`].
#[derive(Clone)]
pub struct ScimUserPorts {
    /// Store of the users whom SCIM clients see.
    pub store: Arc<dyn ScimUserStore>,
    /// Numbers of accounts that the licence allows.
    pub seats: Arc<dyn Seats>,
    /// Rules for new accounts.
    pub rules: LiveSetting<RegistrationRules>,
    /// Use case that deactivates and reactivates accounts.
    pub roles: Roles,
    /// Clock of the changes.
    pub clock: Arc<dyn Clock>,
}

/// Creates, changes and deactivates users for SCIM clients.
///
/// Users are all accounts of the server. A client that deletes one deactivates
/// the account, which is restored when the user is created again.
#[derive(Clone)]
pub struct ScimUsers(ScimUserPorts);

impl ScimUsers {
    /// Creates the use case over its ports.
    pub fn new(ports: ScimUserPorts) -> Self {
        Self(ports)
    }

    /// Creates a user without a credential: they sign in at an identity
    /// provider that vouches for their email address, or choose a password
    /// with a link in an email.
    pub async fn create(&self, update: ScimUserUpdate) -> Result<ScimUser, ScimUserError> {
        let ScimUserPorts { store, seats, rules, clock, .. } = &self.0;
        let attributes =
            ScimUserAttributes::new(&update.changes).map_err(ScimUserError::Invalid)?;
        if rules.get().suspended {
            return Err(ScimUserError::Suspended);
        }

        let user = UserId::generate();
        let created_at = clock.now();
        let limit = seats.limit();
        let effects = SideEffects::about(created_at, user, "ScimUser.Created");
        let is_active = update.is_active.unwrap_or(true);
        let new_user = NewScimUser { user, attributes, is_active, created_at };
        match store.create(new_user, limit, effects).await? {
            ScimUserCreationOutcome::Stored => {}
            // An account that a client deleted and creates again keeps its data.
            ScimUserCreationOutcome::Restored(user) => {
                let update = ScimUserUpdate { changes: Vec::new(), is_active: Some(is_active) };
                return self.change(user, None, update).await;
            }
            ScimUserCreationOutcome::Taken(attribute) => {
                return Err(ScimUserError::Taken(attribute));
            }
            ScimUserCreationOutcome::SeatsTaken => {
                return Err(ScimUserError::SeatsTaken { limit: limit.unwrap_or_default() });
            }
        }

        self.find(user).await
    }

    /// Returns a user whom SCIM clients see.
    pub async fn find(&self, user: UserId) -> Result<ScimUser, ScimUserError> {
        self.0.store.find(user).await?.ok_or(ScimUserError::Unknown)
    }

    /// Returns part of a list of users; [`MAX_SCIM_PAGE`] at most.
    pub async fn list(&self, query: ScimUserQuery) -> Result<ScimUserPage, ScimUserError> {
        let query = ScimUserQuery { limit: query.limit.min(MAX_SCIM_PAGE), ..query };
        Ok(self.0.store.list(query).await?)
    }

    /// Applies all changes or none; if `expected` is set, only to that version of the user. A
    /// deactivated user's sessions end; other instances notice within seconds.
    pub async fn change(
        &self,
        user: UserId,
        expected: Option<String>,
        update: ScimUserUpdate,
    ) -> Result<ScimUser, ScimUserError> {
        let at = self.0.clock.now();
        let changes = update.changes;
        let roles = &self.0.roles;
        let activation = update.is_active.map(|active| roles.activation(user, active));
        let effects = SideEffects::about(at, user, "ScimUser.Updated");
        let edit = ScimUserEdit { user, expected, changes, activation, at, effects };

        let outcome = self.0.store.change(edit).await?;
        // Whatever the outcome, the next request loads the caller's state.
        roles.forget(user);
        let limits = SeatLimits::from_seats(&*self.0.seats);

        Err(match outcome {
            ScimUserChangeOutcome::Done(changed_user) => return Ok(*changed_user),
            ScimUserChangeOutcome::Unknown => ScimUserError::Unknown,
            ScimUserChangeOutcome::Stale => ScimUserError::Stale,
            ScimUserChangeOutcome::Taken(attribute) => ScimUserError::Taken(attribute),
            ScimUserChangeOutcome::Invalid(violation) => ScimUserError::Invalid(violation),
            ScimUserChangeOutcome::Privileged => ScimUserError::Privileged,
            ScimUserChangeOutcome::LastAdmin => RoleError::LastAdmin.into(),
            ScimUserChangeOutcome::SeatsTaken => {
                ScimUserError::SeatsTaken { limit: limits.accounts.unwrap_or_default() }
            }
            ScimUserChangeOutcome::AdminsTaken => {
                RoleError::AdminsTaken { limit: limits.admins.unwrap_or_default() }.into()
            }
        })
    }

    /// Deactivates a user and hides them from SCIM clients. The account and
    /// its data stay.
    pub async fn delete(&self, user: UserId) -> Result<(), ScimUserError> {
        self.find(user).await?;
        self.deactivate(user).await?;
        let at = self.0.clock.now();
        let effects = SideEffects::about(at, user, "ScimUser.Deleted");
        if self.0.store.withdraw(user, at, effects).await? {
            Ok(())
        } else {
            Err(ScimUserError::Unknown)
        }
    }

    async fn deactivate(&self, user: UserId) -> Result<(), ScimUserError> {
        self.0.roles.deactivate(None, user).await.map_err(|err| match err {
            RoleError::Unknown => ScimUserError::Unknown,
            RoleError::Unavailable(err) => err.into(),
            err => err.into(),
        })
    }
}

#[cfg(test)]
mod tests;
