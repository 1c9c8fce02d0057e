//! Showing that an address is one's own.

use std::time::Duration;

use pia_kernel::{LiveSetting, Mail, QueuedEmail, Secret, SideEffects, Unavailable, UserId};

use crate::passwords::resets::LINK as RESET;
use crate::people::account::{Account, AccountRules};
use crate::people::email_tokens::{self, EmailTokenError, EmailTokenPorts, EmailTokens, Link};
use crate::ports::{EmailTokenPurpose, NewEmailToken, RateQuota};
use crate::sessions::caller_cache::CallerCache;

/// Rate limit of emails that tell the owner of an address of attempts to
/// register it.
const REPORTED: RateQuota = RateQuota { burst: 3, window: Duration::from_hours(1) };

const LINK: Link = Link {
    purpose: EmailTokenPurpose::Verification,
    lifetime: Duration::from_hours(24),
    letter: "verify-address",
    requested: "verification.requested",
    place: |account| format!("/auth/verify-email?userId={}", account.user),
    is_for: |it| it.account.email_verified_at.is_none(),
};

/// Errors that prevent an address from being verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The token is unknown, another's, spent or over.
    #[error("the token is not good")]
    Invalid,
    /// The store did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Reasons for refusing a sign-in with the right password.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutstandingRequirement {
    /// Address is not verified yet.
    #[error("the address is not verified")]
    Verification,
    /// Something that is needed did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Has people show that their addresses are theirs.
#[derive(Clone)]
pub struct Verification {
    links: EmailTokens,
    rules: LiveSetting<AccountRules>,
    caller_cache: CallerCache,
}

impl Verification {
    /// Verification where `rules` say whether it is owed; `caller_cache` is notified
    /// of those who did it.
    pub fn new(
        ports: EmailTokenPorts,
        rules: LiveSetting<AccountRules>,
        caller_cache: CallerCache,
    ) -> Self {
        Self { links: EmailTokens(ports), rules, caller_cache }
    }

    /// Checks that email can be sent at all.
    pub fn configured(&self) -> Result<(), EmailTokenError> {
        self.links.configured()
    }

    /// Spends the token of a letter. It is good once: who opens the link again
    /// is informed that it no longer is, though their address stays verified.
    pub async fn redeem(&self, user: UserId, token: &Secret<String>) -> Result<(), VerifyError> {
        let token = email_tokens::hash_presented(token).ok_or(VerifyError::Invalid)?;
        let EmailTokenPorts { tokens, clock, .. } = &self.links.0;
        let at = clock.now();
        let verified = SideEffects::audit(at, user, "account.verified");
        let good = tokens.verify(user, token, at, verified).await?;
        if !good {
            return Err(VerifyError::Invalid);
        }
        self.caller_cache.forget_user(user);
        Ok(())
    }

    /// Sends another letter, if there is an account with this address that has
    /// not shown it to be its own. Who has none is not reported.
    pub async fn resend(&self, email: &str) -> Result<(), EmailTokenError> {
        self.links.request(&LINK, email).await
    }

    /// Forgets tokens of letters that have ended. Answers how many they were.
    pub async fn sweep(&self) -> Result<u64, Unavailable> {
        self.links.0.tokens.sweep(self.links.0.clock.now()).await
    }

    /// Returns the requirements that a new account is stored with; nothing if
    /// there are none.
    pub(crate) fn begin(
        &self,
        account: &Account,
    ) -> Result<Option<(NewEmailToken, Mail)>, Unavailable> {
        if !self.is_required(account) {
            return Ok(None);
        }
        self.links.letter(&LINK, account).map(Some)
    }

    /// Refuses who has yet to show that their address is theirs, and sends
    /// them another letter. Only who has shown the password gets so far.
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

    /// Reports the owner of an address that somebody has registered it anew.
    ///
    /// As long as nobody has shown that the address is theirs, whoever reads
    /// the letter may be the one who registers now, and the account somebody
    /// else's: they are sent a link to choose a password instead.
    ///
    /// Done too for the newcomer whose it has just become, and then in vain:
    /// otherwise the time would tell the two apart.
    pub(crate) async fn report_owner(
        &self,
        email: &str,
        newcomer: UserId,
    ) -> Result<(), Unavailable> {
        let EmailTokenPorts { accounts, tokens, clock, .. } = &self.links.0;
        let may = self.links.counted("address-taken", email, REPORTED).await?;
        let owner = accounts.by_email(email).await?;
        let owner = owner.filter(|it| may && it.account.user != newcomer);
        let at = clock.now();
        match owner {
            Some(found) => {
                let owner = found.account.user;
                let reported = SideEffects::about(at, owner, "registration.address_taken");
                let unproved = found.account.email_verified_at.is_none();
                let (token, letter) = if unproved && (RESET.is_for)(&found) {
                    let (token, letter) = self.links.letter(&RESET, &found.account)?;
                    (Some(token), letter)
                } else {
                    (None, QueuedEmail::new("address-taken").to_user(at, owner))
                };
                tokens.put(owner, token, reported.and_mail(letter)).await
            }
            None => tokens.pretend(at).await,
        }
    }

    fn is_required(&self, account: &Account) -> bool {
        self.rules.get().require_verification && account.email_verified_at.is_none()
    }
}

#[cfg(test)]
mod tests;
