//! Verification of email addresses.
//!
//! Three paths send the same link: `begin` with a registration, `outstanding`
//! after the right password of an unverified account, `resend` on request.
//! `redeem` consumes its token. `notify_owner` is the email for an address
//! that is registered again.

use std::time::Duration;

use pia_kernel::{LiveSetting, Mail, QueuedEmail, Secret, SideEffects, Unavailable, UserId};

use crate::passwords::resets::LINK as RESET;
use crate::people::account::{Account, AccountRules};
use crate::people::email_tokens::{self, EmailTokenError, EmailTokenPorts, EmailTokens, Link};
use crate::ports::{EmailTokenPurpose, NewEmailToken, RateQuota};
use crate::sessions::caller_cache::CallerCache;

/// Rate limit of emails to the owner of an address about attempts to register it.
const NOTIFICATION_LIMIT: RateQuota = RateQuota { burst: 3, window: Duration::from_hours(1) };

const LINK: Link = Link {
    purpose: EmailTokenPurpose::Verification,
    lifetime: Duration::from_hours(24),
    template: "verify-address",
    audit_action: "verification.requested",
    page: |account| format!("/auth/verify-email?userId={}", account.user),
    is_for: |it| it.account.email_verified_at.is_none(),
};

/// Errors that prevent an address from being verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// Token is unknown, of another user, used or expired.
    #[error("the token is invalid")]
    Invalid,
    /// The store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Reasons for refusing a sign-in with the right password.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutstandingRequirement {
    /// Address is not verified yet.
    #[error("the email address isn't verified")]
    Verification,
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Verification of email addresses by a link.
#[derive(Clone)]
pub struct Verification {
    links: EmailTokens,
    rules: LiveSetting<AccountRules>,
    caller_cache: CallerCache,
}

impl Verification {
    /// Creates a verification that `rules` may require; `caller_cache` is notified of verified
    /// accounts.
    pub fn new(
        ports: EmailTokenPorts,
        rules: LiveSetting<AccountRules>,
        caller_cache: CallerCache,
    ) -> Self {
        Self { links: EmailTokens(ports), rules, caller_cache }
    }

    /// Returns an error if the server cannot send emails.
    pub fn configured(&self) -> Result<(), EmailTokenError> {
        self.links.configured()
    }

    /// Redeems the token of an email. It is valid once: opening the link again is an error, though
    /// the address stays verified.
    pub async fn redeem(&self, user: UserId, token: &Secret<String>) -> Result<(), VerifyError> {
        let token = email_tokens::hash_presented(token).ok_or(VerifyError::Invalid)?;
        let EmailTokenPorts { tokens, clock, .. } = &self.links.0;
        let at = clock.now();
        let effects = SideEffects::audit(at, user, "account.verified");
        if !tokens.verify(user, token, at, effects).await? {
            return Err(VerifyError::Invalid);
        }
        self.caller_cache.forget_user(user);
        Ok(())
    }

    /// Sends another email, if the address has an unverified account. The result does not reveal
    /// whether it has.
    pub async fn resend(&self, email: &str) -> Result<(), EmailTokenError> {
        self.links.request(&LINK, email).await
    }

    /// Deletes tokens that have expired. Returns their number.
    pub async fn sweep(&self) -> Result<u64, Unavailable> {
        self.links.0.tokens.sweep(self.links.0.clock.now()).await
    }

    /// Returns the token and the email of a new account; `None` if no verification is required.
    pub(crate) fn begin(
        &self,
        account: &Account,
    ) -> Result<Option<(NewEmailToken, Mail)>, Unavailable> {
        if !self.is_required(account) {
            return Ok(None);
        }
        self.links.compose(&LINK, account).map(Some)
    }

    /// Refuses an account whose verification is outstanding, and sends another email. The caller
    /// must have verified the password.
    pub(crate) async fn outstanding(
        &self,
        account: &Account,
    ) -> Result<(), OutstandingRequirement> {
        if !self.is_required(account) {
            return Ok(());
        }
        if self.configured().is_ok() {
            self.links.remind(&LINK, account).await?;
        }
        Err(OutstandingRequirement::Verification)
    }

    /// Emails the owner of an address that it was registered again.
    ///
    /// While the address is unverified, the reader of the email may be the one who registers now,
    /// and the account someone else's: they are sent a link to reset the password instead.
    ///
    /// Also called for the newcomer's own account, without effect: otherwise the time would
    /// distinguish the two cases.
    pub(crate) async fn notify_owner(
        &self,
        email: &str,
        newcomer: UserId,
    ) -> Result<(), Unavailable> {
        let EmailTokenPorts { accounts, tokens, clock, .. } = &self.links.0;
        let allowed = self.links.counted("address-taken", email, NOTIFICATION_LIMIT).await?;
        let owner =
            accounts.by_email(email).await?.filter(|it| allowed && it.account.user != newcomer);
        let at = clock.now();
        let Some(owner) = owner else { return tokens.pretend(at).await };

        let user = owner.account.user;
        let is_unverified = owner.account.email_verified_at.is_none();
        let (token, mail) = if is_unverified && (RESET.is_for)(&owner) {
            let (token, mail) = self.links.compose(&RESET, &owner.account)?;
            (Some(token), mail)
        } else {
            (None, QueuedEmail::new("address-taken").to_user(at, user))
        };
        let effects = SideEffects::about(at, user, "registration.address_taken").and_mail(mail);

        tokens.put(user, token, effects).await
    }

    fn is_required(&self, account: &Account) -> bool {
        self.rules.get().require_verification && account.email_verified_at.is_none()
    }
}

#[cfg(test)]
mod tests;
