//! Speaking to identity providers, and what is stored of sign-ins at them.

use async_trait::async_trait;
use pia_kernel::{Secret, SessionId, SideEffects, Timestamp, Unavailable, UserId};

use super::{ProviderIdentity, SessionStarted, TokenHash};
use crate::people::account::Account;
use crate::providers::code_challenge::CodeChallenge;
use crate::providers::flow::ProviderFlow;
use crate::providers::provider::Provider;

/// Secrets of one redirect to a provider.
#[derive(Debug, Clone)]
pub struct ProviderRequest {
    /// State that the provider sends back.
    pub state: Secret<String>,
    /// Nonce that the provider must put into its token.
    pub nonce: Secret<String>,
    /// PKCE verifier: its challenge is sent to the provider, itself with the
    /// code.
    pub verifier: Secret<String>,
}

/// A code that a provider gave a browser, and what it must fit.
#[derive(Debug, Clone)]
pub struct ProviderCode {
    /// The code.
    pub code: Secret<String>,
    /// Issuer named by the response.
    pub issuer: Option<String>,
    /// Nonce that the token must contain.
    pub nonce: Secret<String>,
    /// PKCE verifier of the challenge that was sent.
    pub verifier: Secret<String>,
}

/// Whom a provider says somebody is. All of it was found to be signed by the
/// provider, for this server and this sign-in, lately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderClaims {
    /// Whom it knows them as.
    pub identity: ProviderIdentity,
    /// Their address.
    pub email: Option<String>,
    /// True if the provider verified the address; `None` if the provider does
    /// not say.
    pub email_verified: Option<bool>,
    /// True if the operator trusts the provider's addresses even if unverified.
    pub trusts_email: bool,
    /// Display name.
    pub name: Option<String>,
}

/// Errors that prevent a provider from identifying a person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// Provider is not configured.
    #[error("the provider is not set up")]
    NotConfigured,
    /// Provider did not answer, not in time, or not in the protocol.
    #[error("the provider does not answer")]
    Unreachable,
    /// Provider refused with this code of its own.
    #[error("the provider refused: {0}")]
    Refused(String),
    /// The token cannot be trusted.
    #[error("the provider's token is not good")]
    BadToken,
}

/// Speaks to identity providers. It alone knows how they are set up.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait IdentityProviders: Send + Sync {
    /// Returns the URL at which a browser signs in.
    async fn authorization_url(
        &self,
        provider: Provider,
        request: &ProviderRequest,
    ) -> Result<String, ProviderError>;

    /// Redeems a provider's code. What is answered was verified: signature,
    /// issuer, audience, nonce and time.
    async fn exchange(
        &self,
        provider: Provider,
        code: ProviderCode,
    ) -> Result<ProviderClaims, ProviderError>;
}

/// A sign-in that goes to a provider.
#[derive(Debug, Clone)]
pub struct NewProviderFlow {
    /// Hash of the state that the provider returns.
    pub hash: TokenHash,
    /// Hash of the cookie of the browser that started it.
    pub browser: TokenHash,
    /// State with which it continues.
    pub flow: ProviderFlow,
    /// Expiry time.
    pub expires_at: Timestamp,
}

/// Store of sign-ins that are at a provider, sealed.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait ProviderFlows: Send + Sync {
    /// Stores one.
    async fn put(&self, new: NewProviderFlow) -> Result<(), Unavailable>;

    /// Takes one out, if this browser began it and it has not ended.
    ///
    /// However many ask at once, one gets it. Another browser takes nothing
    /// away from the one that began it.
    async fn take(
        &self,
        hash: TokenHash,
        browser: TokenHash,
        now: Timestamp,
    ) -> Result<Option<ProviderFlow>, Unavailable>;

    /// Forgets those that have ended. Answers how many they were.
    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable>;
}

/// An account that somebody at a provider has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KnownAccount {
    /// Account is active.
    Active(Account),
    /// Account is deactivated or gone.
    Deactivated,
}

/// First sign-in at a provider to an account that a SCIM client created.
#[derive(Debug, Clone)]
pub struct ProvisionedSignIn {
    /// Provider.
    pub provider: Provider,
    /// Identity at the provider, which the account is linked to.
    pub identity: ProviderIdentity,
    /// Email address that the provider vouches for.
    pub email: String,
    /// Time of the sign-in.
    pub at: Timestamp,
    /// Side effects of linking this account.
    pub effects: fn(UserId, Timestamp) -> SideEffects,
}

/// Accounts as sign-ins at providers look for them.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait ProviderAccounts: Send + Sync {
    /// The account of whom the provider knows by this identity.
    async fn find(
        &self,
        provider: Provider,
        identity: &ProviderIdentity,
    ) -> Result<Option<KnownAccount>, Unavailable>;

    /// Links an identity to the account with its address, if the account is
    /// active and was created by a SCIM client, and nobody has a password or
    /// another identity for it. Returns the account.
    ///
    /// However many sign in at once, one identity is linked.
    async fn link_provisioned(
        &self,
        sign_in: ProvisionedSignIn,
    ) -> Result<Option<Account>, Unavailable>;

    /// Returns whether any account, active or deactivated, has this address,
    /// compared case-insensitively.
    async fn has_address(&self, email: &str) -> Result<bool, Unavailable>;
}

/// A one-time code that is about to be handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSignInCode {
    /// Hash of the code.
    pub hash: TokenHash,
    /// Whom it signs in.
    pub user: UserId,
    /// Challenge that must be answered to redeem it.
    pub challenge: CodeChallenge,
    /// Expiry time.
    pub expires_at: Timestamp,
}

/// Outcome of presenting a one-time code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeRedemption {
    /// Code was valid and is consumed. It gives a session only once that is
    /// [settled](SignInCodes::settle).
    Redeemed(UserId),
    /// Code is invalid; a valid one is consumed.
    Refused,
    /// Code was redeemed before. The session of it has ended, or will not be settled.
    Replayed(UserId),
}

/// Side effects of the end of a session that was started with the code.
pub type ReplayEffects = fn(UserId, Timestamp) -> SideEffects;

/// Store of one-time codes.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait SignInCodes: Send + Sync {
    /// Stores one, unless its account is no more or deactivated.
    async fn put(&self, new: NewSignInCode) -> Result<SessionStarted, Unavailable>;

    /// Presents one, which is good for no second try whatever comes of it.
    ///
    /// Of any number at once one at most is redeemed. It is refused with
    /// another challenge or none, after its end, and for an account that is
    /// deactivated. Presented again, it ends the session that it gave, and
    /// what `if_replayed` says is written with that.
    async fn redeem(
        &self,
        hash: TokenHash,
        challenge: Option<CodeChallenge>,
        at: Timestamp,
        if_replayed: ReplayEffects,
    ) -> Result<CodeRedemption, Unavailable>;

    /// Says which session a redeemed code gave. Answers whether it may: it
    /// may not if the code was presented again meanwhile.
    async fn settle(&self, hash: TokenHash, session: SessionId) -> Result<bool, Unavailable>;

    /// Forgets those that have ended. Answers how many they were.
    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable>;
}

/// Check that the licence allows new accounts at all, whatever seats are left.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
pub trait LicenceInForce: Send + Sync {
    /// Returns whether the licence has not ended.
    fn in_force(&self) -> bool;
}
