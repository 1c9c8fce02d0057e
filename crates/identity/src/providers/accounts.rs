//! Accounts of identity providers' users.
//!
//! `find_or_register` tries in this order: the account of the identity; a
//! provisioned account with the address, which is linked; a new account, if
//! the address is free, the licence is in force and the rules admit it.

use std::sync::Arc;

use pia_kernel::{Clock, LiveSetting, SideEffects, UserId, truncate};

use crate::people;
use crate::people::account::Account;
use crate::people::registration::RegistrationRules;
use crate::ports::{
    AccountCreationOutcome, AccountStore, KnownAccount, LicenceInForce, NewAccount,
    ProviderAccounts, ProviderClaims, ProviderIdentity, ProvisionedSignIn, Seats,
};
use crate::providers::provider::Provider;
use crate::providers::sign_in::ProviderSignInError;

/// Maximum length of a display name; longer ones are truncated, as the user cannot change the
/// provider's.
const MAX_NAME_CHARS: usize = 200;

/// Finds the accounts of identity providers' users, and creates them at the first sign-in.
///
/// Users are recognised only by their identity at the provider: a change of their address there has
/// no effect here, and an address does not open an account of another identity, even if the
/// provider vouches for it. The exception is an account that a SCIM client created and nobody has
/// used yet: it is linked to the first identity whose provider reports its address.
#[derive(Clone)]
pub(crate) struct ProviderAccountFinder {
    pub(crate) provider_accounts: Arc<dyn ProviderAccounts>,
    pub(crate) accounts: Arc<dyn AccountStore>,
    pub(crate) seats: Arc<dyn Seats>,
    pub(crate) licence: Arc<dyn LicenceInForce>,
    pub(crate) rules: LiveSetting<RegistrationRules>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl ProviderAccountFinder {
    /// Returns the account of these claims, or creates it.
    pub(crate) async fn find_or_register(
        &self,
        provider: Provider,
        claims: ProviderClaims,
    ) -> Result<Account, ProviderSignInError> {
        if let Some(account) = self.find(provider, &claims.identity).await? {
            return Ok(account);
        }

        let email = address(&claims)?;
        let sign_in = ProvisionedSignIn {
            provider,
            identity: claims.identity.clone(),
            email: email.clone(),
            at: self.clock.now(),
            effects: |user, at| SideEffects::audit(at, user, "account.linked"),
        };

        if let Some(account) = self.provider_accounts.link_provisioned(sign_in).await? {
            return Ok(account);
        }
        // A taken address is reported as such even if no account could be created.
        if self.provider_accounts.has_address(&email).await? {
            return self.find_again(provider, &claims.identity).await;
        }
        if !self.licence.in_force() {
            return Err(ProviderSignInError::LicenceEnded);
        }
        if self.rules.get().suspended {
            return Err(ProviderSignInError::Suspended);
        }
        if !self.rules.get().admit(&email) {
            return Err(ProviderSignInError::RegistrationClosed);
        }

        self.register(provider, email, claims).await
    }

    async fn find(
        &self,
        provider: Provider,
        identity: &ProviderIdentity,
    ) -> Result<Option<Account>, ProviderSignInError> {
        match self.provider_accounts.find(provider, identity).await? {
            Some(KnownAccount::Active(account)) => Ok(Some(account)),
            Some(KnownAccount::Deactivated) => Err(ProviderSignInError::Deactivated),
            None => Ok(None),
        }
    }

    async fn register(
        &self,
        provider: Provider,
        email: String,
        claims: ProviderClaims,
    ) -> Result<Account, ProviderSignInError> {
        let now = self.clock.now();
        let account = Account {
            display_name: claims.name.as_deref().and_then(display_name),
            provider: provider.name().to_owned(),
            email_verified_at: Some(now),
            ..Account::local(UserId::generate(), email, now)
        };

        let identity = claims.identity;
        let new_account = NewAccount {
            account: account.clone(),
            password_hash: None,
            identity: Some(identity.clone()),
            verification: None,
            invitation: None,
        };

        let effects = SideEffects::audit(now, account.user, "account.registered");
        let limit = self.seats.limit();
        match self.accounts.register(new_account, limit, effects).await? {
            AccountCreationOutcome::Stored => Ok(account),
            AccountCreationOutcome::NotInvited => Err(ProviderSignInError::RegistrationClosed),
            AccountCreationOutcome::SeatsTaken => {
                Err(ProviderSignInError::SeatsTaken { limit: limit.unwrap_or_default() })
            }
            // Since it was looked up before.
            AccountCreationOutcome::EmailTaken => self.find_again(provider, &identity).await,
        }
    }

    /// Returns the account of a user whose address was taken meanwhile, possibly by themselves in
    /// another tab.
    async fn find_again(
        &self,
        provider: Provider,
        identity: &ProviderIdentity,
    ) -> Result<Account, ProviderSignInError> {
        self.find(provider, identity).await?.ok_or(ProviderSignInError::EmailExists)
    }
}

/// Returns the address, if the provider verified it. One reported as unverified is always refused.
fn address(claims: &ProviderClaims) -> Result<String, ProviderSignInError> {
    let email = claims
        .email
        .as_deref()
        .and_then(|it| people::email::parse(it).ok())
        .ok_or(ProviderSignInError::EmailMissing)?;
    match claims.email_verified {
        Some(true) => Ok(email),
        None if claims.trusts_email => Ok(email),
        Some(false) | None => Err(ProviderSignInError::EmailNotVerified),
    }
}

fn display_name(name: &str) -> Option<String> {
    let printable: String = name.chars().filter(|it| !it.is_control()).collect();
    let short = truncate(printable.trim(), MAX_NAME_CHARS).trim_end();
    (!short.is_empty()).then(|| short.to_owned())
}

#[cfg(test)]
mod tests;
