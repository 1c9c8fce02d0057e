//! Ports of passwords; implemented in `storage-identity`, and for hashing in `passwords`.

use async_trait::async_trait;
use pia_kernel::{Secret, SideEffects, Timestamp, Unavailable, UserId};

use super::{EndEffects, TokenHash};
use crate::people::account::ApiKeyRef;
use crate::sessions::access_tokens::SessionRef;

/// Store of passwords.
///
/// Of concurrent changes to one account, one succeeds, and only if the account is active and has a
/// password. It deletes the sign-ins that wait for a second factor and the tokens for a reset.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait PasswordStore: Send + Sync {
    /// Consumes the token, replaces the password, ends every session and revokes the app passwords,
    /// whose creator is unknown. The token also verifies the email address. Returns whether the
    /// token was valid.
    async fn reset(&self, reset: PasswordReset) -> Result<bool, Unavailable>;

    /// Replaces the password if it is still `old`, ends the other sessions, and revokes app
    /// passwords and API keys if requested. Returns the app access that is left; `None` if the
    /// password was not `old`.
    async fn change(&self, change: PasswordChange) -> Result<Option<AppAccess>, Unavailable>;
}

/// A new password in place of a forgotten one.
#[derive(Debug, Clone)]
pub struct PasswordReset {
    /// Account of the token.
    pub user: UserId,
    /// Hash of the reset token.
    pub token: TokenHash,
    /// Hash of the new password.
    pub password_hash: Secret<String>,
    /// Time of the change, for its effects.
    pub at: Timestamp,
    /// Side effects of the change.
    pub effects: SideEffects,
    /// Side effects of the end of each session.
    pub if_ended: EndEffects,
}

/// A new password in place of the current one, which the owner has just proved.
#[derive(Debug, Clone)]
pub struct PasswordChange {
    /// Account, and its session that stays open.
    pub by: SessionRef,
    /// Hash of the previous password.
    pub old: Secret<String>,
    /// Hash of the new password.
    pub new: Secret<String>,
    /// True if app passwords and API keys are revoked as well.
    pub revoke_app_access: bool,
    /// Time of the change, for its effects.
    pub at: Timestamp,
    /// Side effects of the change, by the remaining app access.
    pub effects: fn(UserId, Timestamp, AppAccess) -> SideEffects,
    /// Side effects of the end of each other session.
    pub if_ended: EndEffects,
    /// Side effects of each app password and API key that is revoked.
    pub if_revoked: AppAccessRevoked,
}

/// Numbers of credentials that open an account besides its password.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AppAccess {
    /// Number of app passwords that are still valid.
    pub app_passwords: u64,
    /// Number of API keys that are still valid.
    pub api_keys: u64,
}

/// Side effects of revoking app passwords and API keys.
#[derive(Debug, Clone, Copy)]
pub struct AppAccessRevoked {
    /// Written for each app password.
    pub app_password: EndEffects,
    /// Written for each API key.
    pub api_key: fn(ApiKeyRef, Timestamp) -> SideEffects,
}

/// Hashes and verifies passwords, off the request workers.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait PasswordHasher: Send + Sync {
    /// Returns the hash of a password: a PHC string with its own salt.
    async fn hash(&self, password: Secret<String>) -> Result<Secret<String>, Unavailable>;

    /// Compares a password with a stored hash.
    ///
    /// Takes as long if there is no hash, so that the time does not reveal which addresses have
    /// accounts.
    async fn verify(
        &self,
        password: Secret<String>,
        stored: Option<Secret<String>>,
    ) -> Result<Verdict, Unavailable>;
}

/// Result of comparing a password with the stored hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Password matches, and its hash has the current parameters.
    Right,
    /// Password matches, and its hash should be renewed with the current parameters.
    RightButOutdated,
    /// Password does not match, or there is none.
    Wrong,
}
