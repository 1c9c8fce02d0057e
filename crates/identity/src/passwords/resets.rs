//! Choosing another password in the place of a forgotten one.

use std::sync::Arc;
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use pia_kernel::{LiveSetting, QueuedEmail, Secret, SideEffects, Timestamp, Unavailable, UserId};

use crate::passwords;
use crate::passwords::throttle::PasswordThrottle;
use crate::people::account::{Account, SCIM_PROVIDER};
use crate::people::email::fold_email;
use crate::people::email_tokens::{self, EmailTokenError, EmailTokenPorts, EmailTokens, Link};
use crate::people::registration::RegistrationRules;
use crate::ports::{
    EmailTokenPurpose, GuessRules, PasswordHasher, PasswordReset, PasswordStore,
    PasswordThrottleStore,
};
use crate::sessions::caller_cache::CallerCache;
use crate::sign_in::device::SignInDevice;
use crate::violation::Violation;

/// Password resets are for local accounts and those that a SCIM client created:
/// a password for an account of a provider would open a second way into it.
pub(crate) const LINK: Link = Link {
    purpose: EmailTokenPurpose::PasswordReset,
    lifetime: Duration::from_hours(1),
    letter: "password-reset",
    requested: "password.reset_requested",
    place: |account| {
        let email = utf8_percent_encode(&account.email, NON_ALPHANUMERIC);
        format!("/auth/reset-password.html?email={email}")
    },
    is_for: |it| it.password_hash.is_some() || it.account.provider == SCIM_PROVIDER,
};

/// Reasons why a password stays as it was.
#[derive(Debug, thiserror::Error)]
pub enum ResetError {
    /// The token is unknown, for another address, spent or over.
    #[error("the token is not good")]
    InvalidToken,
    /// The password is weak; the token is still good.
    #[error("the new password is weak")]
    Invalid(Vec<Violation>),
    /// Something that is needed did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Ports of replacing a password.
#[derive(Clone)]
pub struct PasswordPorts {
    /// Store of passwords.
    pub store: Arc<dyn PasswordStore>,
    /// Hashing of passwords.
    pub hasher: Arc<dyn PasswordHasher>,
    /// Rules for new passwords.
    pub rules: LiveSetting<RegistrationRules>,
}

impl PasswordPorts {
    /// Returns the weakness of a chosen password, if any.
    pub(crate) fn weakness(
        &self,
        password: &Secret<String>,
        account: &Account,
    ) -> Option<Violation> {
        let about = [account.email.as_str(), account.display_name.as_deref().unwrap_or_default()];
        let fewest = self.rules.get().fewest_password_chars;
        let weakness = passwords::rules::weakness(password.expose(), fewest, &about);
        weakness.map(|it| it.violation("newPassword"))
    }
}

/// Lets people choose another password who have forgotten theirs.
#[derive(Clone)]
pub struct PasswordResets {
    links: EmailTokens,
    passwords: PasswordPorts,
    throttle: PasswordThrottle,
    caller_cache: CallerCache,
}

impl PasswordResets {
    /// Resets by letter; `caller_cache` is notified of sessions that end.
    pub fn new(
        links: EmailTokenPorts,
        passwords: PasswordPorts,
        throttle: Arc<dyn PasswordThrottleStore>,
        caller_cache: CallerCache,
    ) -> Self {
        let (rules, clock) = (GuessRules::default(), Arc::clone(&links.clock));
        let throttle = PasswordThrottle { ledger: throttle, rules, clock };
        Self { links: EmailTokens(links), passwords, throttle, caller_cache }
    }

    /// Returns whether anybody could get a letter at all.
    pub fn configured(&self) -> Result<(), EmailTokenError> {
        self.links.configured()
    }

    /// Sends a letter to the owner of an address, if there is an account with
    /// it that has a password. Who has none is not reported.
    pub async fn request(&self, email: &str) -> Result<(), EmailTokenError> {
        self.links.request(&LINK, email).await
    }

    /// Puts another password in the place of the forgotten one, and ends every
    /// session of its owner. Guesses at the old one slow nobody down any more.
    ///
    /// The token is looked at before the password, so that what is wrong with
    /// that is reported to nobody else, and spent only with a password that is
    /// taken.
    pub async fn reset(
        &self,
        email: &str,
        token: &Secret<String>,
        new_password: Secret<String>,
        device: &SignInDevice,
    ) -> Result<(), ResetError> {
        let token = email_tokens::hash_presented(token).ok_or(ResetError::InvalidToken)?;
        let EmailTokenPorts { accounts, tokens, clock, .. } = &self.links.0;
        let owner = tokens.owner(token, LINK.purpose, clock.now()).await?;
        let user = owner.ok_or(ResetError::InvalidToken)?;
        let account = accounts.find(user).await?;
        let account = account.filter(|it| fold_email(&it.email) == fold_email(email));
        let account = account.ok_or(ResetError::InvalidToken)?;
        if let Some(weakness) = self.passwords.weakness(&new_password, &account) {
            return Err(ResetError::Invalid(vec![weakness]));
        }
        let password_hash = self.passwords.hasher.hash(new_password).await?;
        let at = clock.now();
        let letter = QueuedEmail::new("password-changed").to_user(at, user);
        let effects = SideEffects::audit(at, user, "password.reset").and_mail(letter);
        let reset = PasswordReset { user, token, password_hash, at, effects, if_ended: ended };
        let good = self.passwords.store.reset(reset).await?;
        self.caller_cache.forget_user(user);
        if !good {
            return Err(ResetError::InvalidToken);
        }
        self.throttle.forgive(&account.email, device).await;
        Ok(())
    }
}

/// Returns the side effects of ending a session that started with the previous
/// password.
pub(crate) fn ended(user: UserId, at: Timestamp) -> SideEffects {
    SideEffects::audit(at, user, "session.ended")
}

#[cfg(test)]
mod tests;
