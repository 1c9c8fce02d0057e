//! Ports of passwords.

use async_trait::async_trait;
use pia_kernel::{Secret, SideEffects, Timestamp, Unavailable, UserId};

use super::{EndEffects, TokenHash};
use crate::people::account::ApiKeyRef;
use crate::sessions::access_tokens::SessionRef;

/// A password in the place of one that was forgotten.
#[derive(Debug, Clone)]
pub struct PasswordReset {
    /// Account id.
    pub user: UserId,
    /// The token that it is chosen with.
    pub token: TokenHash,
    /// Hash of the password.
    pub password_hash: Secret<String>,
    /// Time at which it is chosen.
    pub at: Timestamp,
    /// Side effects of the change.
    pub effects: SideEffects,
    /// Side effects of the end of each session.
    pub if_ended: EndEffects,
}

/// A password in the place of one that its owner has just shown.
#[derive(Debug, Clone)]
pub struct PasswordChange {
    /// Account, and its session that continues.
    pub by: SessionRef,
    /// Hash of the previous password.
    pub old: Secret<String>,
    /// Hash of the new password.
    pub new: Secret<String>,
    /// True if app passwords and API keys are revoked as well.
    pub revoke_app_access: bool,
    /// Time at which it is chosen.
    pub at: Timestamp,
    /// Side effects of the change, given the app access that is left.
    pub effects: fn(UserId, Timestamp, AppAccess) -> SideEffects,
    /// Side effects of the end of each other session.
    pub if_ended: EndEffects,
    /// Side effects of each app password and API key that is revoked.
    pub if_revoked: AppAccessRevoked,
}

/// App passwords and API keys that open an account beside its password.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AppAccess {
    /// The number of app passwords.
    pub app_passwords: u64,
    /// The number of API keys.
    pub api_keys: u64,
}

/// Effects of revoking an app password and of revoking an API key.
#[derive(Debug, Clone, Copy)]
pub struct AppAccessRevoked {
    /// Written with each app password.
    pub app_password: EndEffects,
    /// Written with each API key.
    pub api_key: fn(ApiKeyRef, Timestamp) -> SideEffects,
}

/// Store of passwords.
///
/// Of many at once for one account one is taken, and only if the account is
/// active and has a password. With it go the sign-ins that wait for a second
/// factor, and the tokens for a reset.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait PasswordStore: Send + Sync {
    /// Spends the token and puts another password in the place of the old
    /// one, ends every session, and takes the app passwords away: nobody knows
    /// who made them. That the token was read shows that the address is its
    /// owner's. Answers whether the token was good for that.
    async fn reset(&self, reset: PasswordReset) -> Result<bool, Unavailable>;

    /// Puts another password in the place of `old`, if it is still that one,
    /// ends the other sessions, and revokes app passwords and API keys if that
    /// is requested. Answers what of those is left; nothing if the password
    /// was another.
    async fn change(&self, change: PasswordChange) -> Result<Option<AppAccess>, Unavailable>;
}

/// Result of comparing a password with the stored hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Password matches.
    Right,
    /// Password matches, and its hash should be renewed with today's parameters.
    RightButOutdated,
    /// Password does not match, or there is none.
    Wrong,
}

/// Turns passwords into what is stored of them, off the request workers.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait PasswordHasher: Send + Sync {
    /// Returns the hash of a password: a PHC string with its own salt.
    async fn hash(&self, password: Secret<String>) -> Result<Secret<String>, Unavailable>;

    /// Compares a password with what was stored of one.
    ///
    /// Takes as long where nothing was stored, so that the time reveals to nobody
    /// which addresses have accounts.
    async fn verify(
        &self,
        password: Secret<String>,
        stored: Option<Secret<String>>,
    ) -> Result<Verdict, Unavailable>;
}
