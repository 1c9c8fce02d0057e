//! Emails with a single-use link.
//!
//! A `Link` describes one kind: `people/verification.rs` and
//! `passwords/resets.rs` have one each. `request` is for strangers, so that
//! an address without an account takes the same steps; `remind` is for users
//! who have proved their password; `compose` leaves the storing to its
//! caller. `people/address_change.rs` builds its link itself and shares only
//! the limits.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pia_kernel::{Clock, LiveSetting, Mail, QueuedEmail, Secret, SideEffects, Unavailable};
use ring::digest;

use crate::factors;
use crate::people::account::Account;
use crate::people::email::{self, fold_email};
use crate::ports::{
    AccountStore, Credentials, EmailTokenPurpose, EmailTokenStore, NewEmailToken, RateLimitOutcome,
    RateLimitStore, RateQuota, TokenHash,
};
use crate::sessions;
use crate::sessions::token_hash;

/// Limit of emails of one kind to one address. The links of the last three are valid, so that
/// exhausting the limit does not prevent the owner from opening one.
pub(crate) const EMAIL_LIMIT: RateQuota = RateQuota { burst: 3, window: Duration::from_hours(1) };

/// Errors of sending an email.
#[derive(Debug, thiserror::Error)]
pub enum EmailTokenError {
    /// Mail is not configured.
    #[error("mail is not configured")]
    NotConfigured,
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Ports of the use cases that send emails with links.
#[derive(Clone)]
pub struct EmailTokenPorts {
    /// Store of accounts, to find the one of an address.
    pub accounts: Arc<dyn AccountStore>,
    /// Store of the tokens in the links.
    pub tokens: Arc<dyn EmailTokenStore>,
    /// Counter of emails, by kind and address.
    pub attempts: Arc<dyn RateLimitStore>,
    /// True if the server sends emails.
    pub mail: LiveSetting<bool>,
    /// Public URL of the server, without a trailing slash. It is never taken from a request, whose
    /// sender could choose where the links of others lead.
    pub public_url: String,
    /// Clock of the tokens' expiry.
    pub clock: Arc<dyn Clock>,
}

/// A kind of link.
pub(crate) struct Link {
    pub(crate) purpose: EmailTokenPurpose,
    pub(crate) lifetime: Duration,
    pub(crate) template: &'static str,
    /// Audit action of a request.
    pub(crate) audit_action: &'static str,
    /// Path and query of the link, without the token, which is appended as `&token=`.
    pub(crate) page: fn(&Account) -> String,
    /// Filter of the accounts that receive one.
    pub(crate) is_for: fn(&Credentials) -> bool,
}

/// Sends links and stores their tokens.
#[derive(Clone)]
pub(crate) struct EmailTokens(pub(crate) EmailTokenPorts);

impl EmailTokens {
    /// Returns an error if the server cannot send emails.
    pub(crate) fn configured(&self) -> Result<(), EmailTokenError> {
        if *self.0.mail.get() { Ok(()) } else { Err(EmailTokenError::NotConfigured) }
    }

    /// Sends a link to the owner of this address, if `link` is for them.
    ///
    /// An address without an account takes the same steps to the same result: one attempt, one
    /// read, one write.
    pub(crate) async fn request(&self, link: &Link, email: &str) -> Result<(), EmailTokenError> {
        self.configured()?;
        // No account has such an address, so a fast return reveals nothing.
        let Some(email) = email::for_lookup(email) else { return Ok(()) };
        if !self.counted(link.purpose.name(), email, EMAIL_LIMIT).await? {
            return Ok(());
        }

        match self.0.accounts.by_email(email).await?.filter(link.is_for) {
            Some(Credentials { account, .. }) => self.send(link, &account).await?,
            None => self.0.tokens.pretend(self.0.clock.now()).await?,
        }

        Ok(())
    }

    /// Sends a link to an authenticated user, within the limit.
    pub(crate) async fn remind(&self, link: &Link, account: &Account) -> Result<(), Unavailable> {
        if self.counted(link.purpose.name(), &account.email, EMAIL_LIMIT).await? {
            self.send(link, account).await?;
        }
        Ok(())
    }

    /// Returns an email with a new link, and its token to store.
    pub(crate) fn compose(
        &self,
        link: &Link,
        account: &Account,
    ) -> Result<(NewEmailToken, Mail), Unavailable> {
        let at = self.0.clock.now();
        let token = sessions::refresh_tokens::fresh()?;
        let new_token = NewEmailToken {
            hash: token_hash::of_ours(&token),
            purpose: link.purpose,
            expires_at: at + link.lifetime,
        };

        let page = (link.page)(account);
        let url = format!("{}{page}&token={}", self.0.public_url, token.expose());
        let hours = link.lifetime.as_secs() / 3600;
        let mail = QueuedEmail::new(link.template)
            .with("link", url)
            .with("hours", hours.to_string())
            .to_user(at, account.user);

        Ok((new_token, mail))
    }

    /// Counts an email to an address. Returns whether it is within the limit.
    pub(crate) async fn counted(
        &self,
        kind: &str,
        email: &str,
        quota: RateQuota,
    ) -> Result<bool, Unavailable> {
        let hash = digest::digest(&digest::SHA256, fold_email(email).as_bytes());
        let key = format!("{kind}:{}", URL_SAFE_NO_PAD.encode(hash));
        let attempt = self.0.attempts.attempt(&key, quota, self.0.clock.now()).await?;
        Ok(attempt == RateLimitOutcome::Allowed)
    }

    async fn send(&self, link: &Link, account: &Account) -> Result<(), Unavailable> {
        let (token, mail) = self.compose(link, account)?;
        let effects = SideEffects::about(mail.at, account.user, link.audit_action).and_mail(mail);
        self.0.tokens.put(account.user, Some(token), effects).await
    }
}

/// Returns the hash of a presented token; `None` if it is malformed.
pub(crate) fn hash_presented(token: &Secret<String>) -> Option<TokenHash> {
    let is_well_formed = (1..=factors::challenges::MAX_TOKEN_BYTES).contains(&token.expose().len());
    is_well_formed.then(|| token_hash::of_ours(token))
}
