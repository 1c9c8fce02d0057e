//! Change of a known password.
//!
//! `change` verifies the current password here and its hash again in the
//! store, so that of two concurrent changes one fails. Forgotten passwords:
//! `resets.rs`.

use std::time::Duration;

use pia_kernel::{QueuedEmail, Secret, SideEffects, Timestamp, Unavailable, UserId};

use crate::api_keys::revoked_with_password;
use crate::factors::proofs::{FactorProofs, ProofError};
use crate::passwords;
use crate::passwords::{PasswordPorts, end_effects};
use crate::people::account::Account;
use crate::ports::{AppAccess, AppAccessRevoked, PasswordChange, Verdict};
use crate::sessions::access_tokens::SessionRef;
use crate::sessions::caller_cache::CallerCache;
use crate::violation::Violation;

/// Errors of changing a password.
#[derive(Debug, thiserror::Error)]
pub enum ChangePasswordError {
    /// New password is weak, or unchanged.
    #[error("the new password is rejected")]
    Invalid(Vec<Violation>),
    /// Current password is wrong.
    #[error("the current password is wrong")]
    WrongPassword,
    /// Too many wrong passwords.
    #[error("too many wrong passwords")]
    TooMany {
        /// Time until the next attempt is allowed.
        wait: Duration,
    },
    /// Account has no password: it belongs to an identity provider.
    #[error("the account has no password")]
    NoPassword,
    /// Account was deleted during the request.
    #[error("no such account")]
    Gone,
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Changes of passwords by their owners.
///
/// A change ends the user's other sessions: an attacker who had the old password may hold them. App
/// passwords and API keys stay unless requested otherwise; their number is returned.
#[derive(Clone)]
pub struct PasswordChanges {
    proofs: FactorProofs,
    passwords: PasswordPorts,
    caller_cache: CallerCache,
}

impl PasswordChanges {
    /// Creates changes whose wrong proofs count with those of second factors; `caller_cache` is
    /// notified of sessions that end.
    pub fn new(proofs: FactorProofs, passwords: PasswordPorts, caller_cache: CallerCache) -> Self {
        Self { proofs, passwords, caller_cache }
    }

    /// Replaces the caller's password, and revokes app passwords and API keys if requested. Returns
    /// the app access that remains.
    pub async fn change(
        &self,
        by: SessionRef,
        current: Secret<String>,
        new: Secret<String>,
        revoke_app_access: bool,
    ) -> Result<AppAccess, ChangePasswordError> {
        let (account, old) = self.load(by).await?;
        // Before the proof is counted, so that a weak choice uses up no attempt.
        if let Some(violation) = self.violation(&account, &current, &new) {
            return Err(ChangePasswordError::Invalid(vec![violation]));
        }

        self.proofs.counted(by.user, self.verify_current(current, old.clone())).await?;
        let new = self.passwords.hasher.hash(new).await?;
        let at = self.proofs.clock.now();
        let change = PasswordChange {
            by,
            old,
            new,
            revoke_app_access,
            at,
            effects: side_effects,
            if_ended: end_effects,
            if_revoked: REVOKED,
        };
        let remaining_access = self.passwords.store.change(change).await?;
        self.caller_cache.forget_user(by.user);

        // The password was right a moment ago, so another change came first.
        remaining_access.ok_or(ChangePasswordError::WrongPassword)
    }

    /// Returns the account of a caller and its password hash.
    async fn load(&self, by: SessionRef) -> Result<(Account, Secret<String>), ChangePasswordError> {
        let accounts = &self.proofs.ports.accounts;
        let account = accounts.find(by.user).await?.ok_or(ChangePasswordError::Gone)?;
        let hash = accounts
            .by_email(&account.email)
            .await?
            // The address may have passed to another account since `find`.
            .filter(|it| it.account.user == by.user)
            .ok_or(ChangePasswordError::Gone)?
            .password_hash
            .ok_or(ChangePasswordError::NoPassword)?;
        Ok((account, hash))
    }

    fn violation(
        &self,
        account: &Account,
        current: &Secret<String>,
        new: &Secret<String>,
    ) -> Option<Violation> {
        if let Some(weakness) = self.passwords.weakness(new, account) {
            return Some(weakness);
        }
        if new.ct_eq(current.expose()) {
            let message = "The new password must differ from the current one.";
            return Some(Violation::new("newPassword", "unchanged", message));
        }
        None
    }

    async fn verify_current(
        &self,
        current: Secret<String>,
        stored: Secret<String>,
    ) -> Result<(), ProofError> {
        if !(1..=passwords::rules::MAX_PASSWORD_BYTES).contains(&current.expose().len()) {
            return Err(ProofError::Wrong);
        }
        match self.passwords.hasher.verify(current, Some(stored)).await? {
            Verdict::Right | Verdict::RightButOutdated => Ok(()),
            Verdict::Wrong => Err(ProofError::Wrong),
        }
    }
}

impl From<ProofError> for ChangePasswordError {
    fn from(err: ProofError) -> Self {
        match err {
            ProofError::Wrong => Self::WrongPassword,
            ProofError::TooMany { wait } => Self::TooMany { wait },
            ProofError::Unavailable(err) => Self::Unavailable(err),
        }
    }
}

const REVOKED: AppAccessRevoked = AppAccessRevoked {
    app_password: |user, at| SideEffects::audit(at, user, "app_password.removed"),
    api_key: revoked_with_password,
};

/// Returns the audit entry and the email, with the numbers of the remaining credentials.
fn side_effects(user: UserId, at: Timestamp, left: AppAccess) -> SideEffects {
    let email = QueuedEmail::new("password-changed")
        .with("appPasswords", left.app_passwords.to_string())
        .with("apiKeys", left.api_keys.to_string());
    SideEffects::audit(at, user, "password.changed").and_mail(email.to_user(at, user))
}

#[cfg(test)]
mod tests;
