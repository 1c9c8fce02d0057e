//! Use case of forgotten passwords: a link by email, and the new password.
//!
//! `request` sends `LINK` through `people/email_tokens.rs`, `reset` redeems
//! its token. `people/verification.rs` sends `LINK` too, to the owner of an
//! unverified address that someone registers again.

use std::sync::Arc;
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use pia_kernel::{QueuedEmail, Secret, SideEffects, Unavailable};

use crate::passwords::throttle::PasswordThrottle;
use crate::passwords::{PasswordPorts, end_effects};
use crate::people::account::SCIM_PROVIDER;
use crate::people::email::fold_email;
use crate::people::email_tokens::{self, EmailTokenError, EmailTokenPorts, EmailTokens, Link};
use crate::ports::{EmailTokenPurpose, GuessRules, PasswordReset, PasswordThrottleStore};
use crate::sessions::caller_cache::CallerCache;
use crate::sign_in::device::SignInDevice;
use crate::violation::Violation;

/// Password resets are for local accounts and those that a SCIM client created:
/// a password for an account of a provider would open a second way into it.
pub(crate) const LINK: Link = Link {
    purpose: EmailTokenPurpose::PasswordReset,
    lifetime: Duration::from_hours(1),
    template: "password-reset",
    audit_action: "password.reset_requested",
    page: |account| {
        let email = utf8_percent_encode(&account.email, NON_ALPHANUMERIC);
        format!("/auth/reset-password.html?email={email}")
    },
    is_for: |it| it.password_hash.is_some() || it.account.provider == SCIM_PROVIDER,
};

/// Errors of resetting a password.
#[derive(Debug, thiserror::Error)]
pub enum ResetError {
    /// Token is unknown, for another address, used or expired.
    #[error("the token is invalid")]
    InvalidToken,
    /// Password is weak; the token stays valid.
    #[error("the new password is weak")]
    Invalid(Vec<Violation>),
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Reset of forgotten passwords by email.
#[derive(Clone)]
pub struct PasswordResets {
    links: EmailTokens,
    passwords: PasswordPorts,
    throttle: PasswordThrottle,
    caller_cache: CallerCache,
}

impl PasswordResets {
    /// Creates resets by email; `caller_cache` is notified of sessions that end.
    pub fn new(
        links: EmailTokenPorts,
        passwords: PasswordPorts,
        throttle: Arc<dyn PasswordThrottleStore>,
        caller_cache: CallerCache,
    ) -> Self {
        let rules = GuessRules::default();
        let clock = Arc::clone(&links.clock);
        let throttle = PasswordThrottle { store: throttle, rules, clock };
        Self { links: EmailTokens(links), passwords, throttle, caller_cache }
    }

    /// Returns an error if the server cannot send emails.
    pub fn configured(&self) -> Result<(), EmailTokenError> {
        self.links.configured()
    }

    /// Sends an email to the owner of an address, if its account has a password. The result does
    /// not reveal whether it has.
    pub async fn request(&self, email: &str) -> Result<(), EmailTokenError> {
        self.links.request(&LINK, email).await
    }

    /// Replaces the forgotten password and ends every session of its owner. Guesses at the old one
    /// no longer delay sign-ins.
    ///
    /// The token is checked before the password, so that only its holder learns of weaknesses, and
    /// consumed only with an accepted password.
    pub async fn reset(
        &self,
        email: &str,
        token: &Secret<String>,
        new_password: Secret<String>,
        device: &SignInDevice,
    ) -> Result<(), ResetError> {
        let token = email_tokens::hash_presented(token).ok_or(ResetError::InvalidToken)?;
        let EmailTokenPorts { accounts, tokens, clock, .. } = &self.links.0;
        let user = tokens
            .owner(token, LINK.purpose, clock.now())
            .await?
            .ok_or(ResetError::InvalidToken)?;
        let account = accounts
            .find(user)
            .await?
            .filter(|it| fold_email(&it.email) == fold_email(email))
            .ok_or(ResetError::InvalidToken)?;
        if let Some(weakness) = self.passwords.weakness(&new_password, &account) {
            return Err(ResetError::Invalid(vec![weakness]));
        }

        let password_hash = self.passwords.hasher.hash(new_password).await?;
        let at = clock.now();
        let effects = SideEffects::audit(at, user, "password.reset")
            .and_mail(QueuedEmail::new("password-changed").to_user(at, user));
        let password_reset =
            PasswordReset { user, token, password_hash, at, effects, if_ended: end_effects };
        let is_reset = self.passwords.store.reset(password_reset).await?;
        self.caller_cache.forget_user(user);
        if !is_reset {
            return Err(ResetError::InvalidToken);
        }

        // Whoever forgot the password has guessed at it before.
        self.throttle.forgive(&account.email, device).await;

        Ok(())
    }
}

#[cfg(test)]
mod tests;
