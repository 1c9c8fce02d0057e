//! Change of an account's email address.
//!
//! `request` verifies the owner and emails a link to the new address.
//! `confirm`, called by the page of that link for the account's signed-in
//! owner, changes the address. Between the two the new address is in the link
//! alone; the token's stored hash covers it, so that the link confirms no
//! other address.

use std::sync::Arc;
use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use pia_kernel::{LiveSetting, QueuedEmail, Secret, SideEffects, Unavailable, UserId};

use crate::factors::proofs::ReauthProof;
use crate::factors::reauthentication::OwnerError;
use crate::factors::reauthenticator::Reauthenticator;
use crate::people::account::{CallerState, LOCAL};
use crate::people::email;
use crate::people::email_tokens::{EMAIL_LIMIT, EmailTokenError, EmailTokenPorts, EmailTokens};
use crate::people::registration::RegistrationRules;
use crate::ports::{
    AddressChange, AddressChangeOutcome, EmailTokenPurpose, NewEmailToken, RateLimitOutcome,
    RateQuota, ScimUserStore, TokenHash,
};
use crate::scim::user::ScimUser;
use crate::sessions;
use crate::sessions::caller_cache::CallerCache;
use crate::sessions::token_hash;
use crate::violation::Violation;

/// Rate limit of requests by one account, so that nobody floods other people's mailboxes.
const REQUEST_LIMIT: RateQuota = RateQuota { burst: 5, window: Duration::from_hours(1) };
/// Number of hours for which a link is valid.
const LINK_HOURS: u32 = 24;
/// Page that confirms a change. Its reader must sign in.
const PAGE: &str = "/account/email/confirm";

/// Errors of changing an address.
#[derive(Debug, thiserror::Error)]
pub enum AddressChangeError {
    /// New address is not valid, or is the current one.
    #[error("the new address is invalid")]
    Invalid(Vec<Violation>),
    /// Address of the account is managed by an identity provider.
    #[error("the address is managed by an identity provider")]
    Managed,
    /// Too many changes were requested.
    #[error("too many changes of an address")]
    TooMany {
        /// Time until the next request is allowed.
        wait: Duration,
    },
    /// Link is unknown, of another account, used or expired.
    #[error("the token is invalid")]
    InvalidToken,
    /// Another account has the address meanwhile.
    #[error("another account has the address")]
    Taken,
    /// Account was deleted during the request.
    #[error("no such account")]
    Gone,
    /// Proof of ownership is missing or wrong.
    #[error(transparent)]
    Owner(#[from] OwnerError),
    /// Mail is not configured.
    #[error(transparent)]
    Mail(#[from] EmailTokenError),
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Ports of changing an address.
#[derive(Clone)]
pub struct AddressChangePorts {
    /// Ports of emails with links.
    pub emails: EmailTokenPorts,
    /// Accounts as SCIM clients see them, who may manage their addresses.
    pub scim_users: Arc<dyn ScimUserStore>,
    /// Rules that a new address must meet.
    pub rules: LiveSetting<RegistrationRules>,
}

/// Change of one's own email address, by a link that is sent to the new one. The previous address
/// is notified of the request and of the change.
#[derive(Clone)]
pub struct AddressChanges {
    links: EmailTokens,
    scim_users: Arc<dyn ScimUserStore>,
    rules: LiveSetting<RegistrationRules>,
    reauthenticator: Reauthenticator,
    caller_cache: CallerCache,
}

impl AddressChanges {
    /// Creates changes of addresses; `caller_cache` is notified of those that change.
    pub fn new(
        ports: AddressChangePorts,
        reauthenticator: Reauthenticator,
        caller_cache: CallerCache,
    ) -> Self {
        let AddressChangePorts { emails, scim_users, rules } = ports;
        Self { links: EmailTokens(emails), scim_users, rules, reauthenticator, caller_cache }
    }

    /// Sends a link to the new address, and requires a password or a code: whoever changes the
    /// address can reset the password. The result does not reveal whether the address has an
    /// account already; its owner is emailed instead.
    pub async fn request(
        &self,
        caller: CallerState,
        new_email: &str,
        proof: Option<ReauthProof>,
    ) -> Result<(), AddressChangeError> {
        self.links.configured()?;
        let EmailTokenPorts { accounts, tokens, attempts, clock, .. } = &self.links.0;
        let account = accounts.find(caller.user).await?.ok_or(AddressChangeError::Gone)?;
        let scim_user = self.scim_users.find(caller.user).await?;
        if account.provider != LOCAL || scim_user.is_some_and(|it| is_managed(&it)) {
            return Err(AddressChangeError::Managed);
        }

        let new_email = parse(new_email, &account.email).map_err(AddressChangeError::Invalid)?;
        if !self.rules.get().allows_domain(&new_email) {
            let message = "Addresses of this domain are not allowed.";
            let violation = Violation::new("email", "address_not_allowed", message);
            return Err(AddressChangeError::Invalid(vec![violation]));
        }

        let proof = proof.ok_or(OwnerError::Missing)?;
        self.reauthenticator.require(caller, Some(proof)).await?;
        let at = clock.now();
        let by_account = format!("address-change:{}", caller.user);
        if let RateLimitOutcome::Wait(wait) =
            attempts.attempt(&by_account, REQUEST_LIMIT, at).await?
        {
            return Err(AddressChangeError::TooMany { wait });
        }

        let notice = QueuedEmail::new("address-change-requested").with("name", &new_email);
        let mut effects = SideEffects::audit(at, caller.user, "account.email_change_requested")
            .and_mail(notice.to_user(at, caller.user));

        // The same steps for an address that is taken: the time must not reveal it.
        let (token, link) = self.link(&new_email)?;
        let owner = accounts.by_email(&new_email).await?.map(|it| it.account.user);
        let mail = if let Some(owner) = owner.filter(|it| *it != caller.user) {
            QueuedEmail::new("address-taken").to_user(at, owner)
        } else {
            QueuedEmail::new("address-change")
                .with("link", link)
                .with("hours", LINK_HOURS.to_string())
                .to_address(at, &*new_email)
        };

        if self.links.counted("address-change", &new_email, EMAIL_LIMIT).await? {
            effects = effects.and_mail(mail);
        }

        Ok(tokens.put(caller.user, Some(token), effects).await?)
    }

    /// Changes the address of the account to the one that received the token, and verifies it. All
    /// links that were sent to the previous address end.
    pub async fn confirm(
        &self,
        user: UserId,
        new_email: &str,
        token: &Secret<String>,
    ) -> Result<(), AddressChangeError> {
        let EmailTokenPorts { accounts, tokens, clock, .. } = &self.links.0;
        let account = accounts.find(user).await?.ok_or(AddressChangeError::Gone)?;
        let new_email = parse(new_email, &account.email)
            .map_err(|_violations| AddressChangeError::InvalidToken)?;
        let at = clock.now();
        let notice = QueuedEmail::new("address-changed").with("name", &new_email);
        let effects = SideEffects::audit(at, user, "account.email_changed")
            .and_mail(notice.to_address(at, account.email));
        let token = hash(token, &new_email);
        let change = AddressChange { user, token, email: new_email, at, effects };
        let outcome = tokens.change_address(change).await?;
        self.caller_cache.forget_user(user);

        match outcome {
            AddressChangeOutcome::Changed => Ok(()),
            AddressChangeOutcome::InvalidToken => Err(AddressChangeError::InvalidToken),
            AddressChangeOutcome::Taken => Err(AddressChangeError::Taken),
        }
    }

    /// Returns a new token, and the link with it.
    fn link(&self, new_email: &str) -> Result<(NewEmailToken, String), Unavailable> {
        let token = sessions::refresh_tokens::fresh()?;
        let new_token = NewEmailToken {
            hash: hash(&token, new_email),
            purpose: EmailTokenPurpose::AddressChange,
            expires_at: self.links.0.clock.now() + Duration::from_hours(LINK_HOURS.into()),
        };
        let email = utf8_percent_encode(new_email, NON_ALPHANUMERIC);
        let public_url = &self.links.0.public_url;
        Ok((new_token, format!("{public_url}{PAGE}?email={email}&token={}", token.expose())))
    }
}

/// Returns whether a SCIM client manages a user: every account is one, most of them unchanged.
fn is_managed(user: &ScimUser) -> bool {
    user.attributes.external_id.is_some() || user.updated_at > user.created_at
}

/// Returns the hash of a token together with the address that it is for, so that the link confirms
/// no other address.
fn hash(token: &Secret<String>, new_email: &str) -> TokenHash {
    token_hash::of_ours(&Secret::new(format!("{}\n{new_email}", token.expose())))
}

/// Parses the new address, which must differ from the current one.
fn parse(new_email: &str, current: &str) -> Result<String, Vec<Violation>> {
    let new_email = email::parse(new_email).map_err(|it| vec![it])?;
    if new_email == current {
        let message = "This is the current address.";
        return Err(vec![Violation::new("email", "unchanged", message)]);
    }
    Ok(new_email)
}

#[cfg(test)]
mod tests;
