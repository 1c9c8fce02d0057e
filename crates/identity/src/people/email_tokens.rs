//! Letters with a link in them that is good once.

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

/// Number of letters of one kind an address gets, whoever requests them. The
/// links of the last three are good, so that who uses this up keeps nobody from
/// opening one.
const LETTERS: RateQuota = RateQuota { burst: 3, window: Duration::from_hours(1) };

/// Reasons why no letter was sent.
#[derive(Debug, thiserror::Error)]
pub enum EmailTokenError {
    /// Mail is not configured.
    #[error("no mail is set up")]
    NotConfigured,
    /// Something that is needed did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Ports of the use cases that send emails with links.
#[derive(Clone)]
pub struct EmailTokenPorts {
    /// Store of accounts.
    pub accounts: Arc<dyn AccountStore>,
    /// Store of tokens.
    pub tokens: Arc<dyn EmailTokenStore>,
    /// Counter of emails.
    pub attempts: Arc<dyn RateLimitStore>,
    /// True if somebody sends mail.
    pub mail: LiveSetting<bool>,
    /// Under which address browsers know the server, without a slash at its
    /// end. Never what a request says of it: whoever sends that could choose
    /// where the links of others lead.
    pub public_url: String,
    /// The time that tokens end by.
    pub clock: Arc<dyn Clock>,
}

/// A kind of link.
pub(crate) struct Link {
    pub(crate) purpose: EmailTokenPurpose,
    pub(crate) lifetime: Duration,
    pub(crate) letter: &'static str,
    /// Audit action of a request for one.
    pub(crate) requested: &'static str,
    /// The path and the query, as far as they tell whose link it is.
    pub(crate) place: fn(&Account) -> String,
    /// Filter of the accounts that receive one.
    pub(crate) is_for: fn(&Credentials) -> bool,
}

/// Sends links, and keeps what they are good for.
#[derive(Clone)]
pub(crate) struct EmailTokens(pub(crate) EmailTokenPorts);

impl EmailTokens {
    /// Returns whether anybody could get a letter at all.
    pub(crate) fn configured(&self) -> Result<(), EmailTokenError> {
        if *self.0.mail.get() { Ok(()) } else { Err(EmailTokenError::NotConfigured) }
    }

    /// Sends a link to whoever has this address, if it is for them.
    ///
    /// Who has none is answered alike and takes as much work: one attempt, one
    /// look, one write.
    pub(crate) async fn request(&self, link: &Link, email: &str) -> Result<(), EmailTokenError> {
        self.configured()?;
        // No account has such an address, so how soon that is said reports nothing.
        let Some(email) = email::sought(email) else { return Ok(()) };
        if !self.counted(link.purpose.name(), email, LETTERS).await? {
            return Ok(());
        }
        let found = self.0.accounts.by_email(email).await?;
        match found.filter(link.is_for) {
            Some(Credentials { account, .. }) => self.send(link, &account).await?,
            None => self.0.tokens.pretend(self.0.clock.now()).await?,
        }
        Ok(())
    }

    /// Sends a link to somebody who has shown who they are, unless they got
    /// enough of them.
    pub(crate) async fn remind(&self, link: &Link, account: &Account) -> Result<(), Unavailable> {
        if self.counted(link.purpose.name(), &account.email, LETTERS).await? {
            self.send(link, account).await?;
        }
        Ok(())
    }

    /// A letter with a new link, and what is stored of that.
    pub(crate) fn letter(
        &self,
        link: &Link,
        account: &Account,
    ) -> Result<(NewEmailToken, Mail), Unavailable> {
        let (at, token) = (self.0.clock.now(), sessions::refresh_tokens::fresh()?);
        let stored = NewEmailToken {
            hash: token_hash::of_ours(&token),
            purpose: link.purpose,
            expires_at: at + link.lifetime,
        };
        let place = (link.place)(account);
        let url = format!("{}{place}&token={}", self.0.public_url, token.expose());
        let letter = QueuedEmail::new(link.letter).with("link", url).to_user(at, account.user);
        Ok((stored, letter))
    }

    /// Counts a letter to an address. Answers whether it may go out.
    pub(crate) async fn counted(
        &self,
        kind: &str,
        email: &str,
        quota: RateQuota,
    ) -> Result<bool, Unavailable> {
        let hash = digest::digest(&digest::SHA256, fold_email(email).as_bytes());
        let who = format!("{kind}:{}", URL_SAFE_NO_PAD.encode(hash));
        let attempt = self.0.attempts.attempt(&who, quota, self.0.clock.now()).await?;
        Ok(attempt == RateLimitOutcome::Allowed)
    }

    async fn send(&self, link: &Link, account: &Account) -> Result<(), Unavailable> {
        let (token, letter) = self.letter(link, account)?;
        let effects = SideEffects::about(letter.at, account.user, link.requested).and_mail(letter);
        self.0.tokens.put(account.user, Some(token), effects).await
    }
}

/// Returns the hash of a presented token; nothing if it is none of ours.
pub(crate) fn hash_presented(token: &Secret<String>) -> Option<TokenHash> {
    let plausible = (1..=factors::challenges::MAX_TOKEN_BYTES).contains(&token.expose().len());
    plausible.then(|| token_hash::of_ours(token))
}
