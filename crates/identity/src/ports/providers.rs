//! Speaking to identity providers, and what is kept of sign-ins at them.

use async_trait::async_trait;
use pia_kernel::{SideEffects, Secret, SessionId, Timestamp, Unavailable, UserId};

use super::{Begun, ProviderIdentity, TokenHash};
use crate::account::Account;
use crate::code_challenge::CodeChallenge;
use crate::provider::Provider;
use crate::provider_flow::ProviderFlow;

/// What a browser takes along to a provider.
#[derive(Debug, Clone)]
pub struct ProviderRequest {
    /// By which the answer is known again.
    pub state: Secret<String>,
    /// What the provider is to write into its token.
    pub nonce: Secret<String>,
    /// What the provider is challenged with, and shown when the code is
    /// redeemed.
    pub verifier: Secret<String>,
}

/// A code that a provider gave a browser, and what it must fit.
#[derive(Debug, Clone)]
pub struct ProviderCode {
    /// The code.
    pub code: Secret<String>,
    /// Who the answer says it is from.
    pub issuer: Option<String>,
    /// What the token must hold.
    pub nonce: Secret<String>,
    /// What the provider was challenged with.
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
    /// Whether it saw that the address is theirs; nothing where it does not
    /// say.
    pub email_verified: Option<bool>,
    /// Whether the operator takes its word on addresses all the same.
    pub trusts_email: bool,
    /// What they are called.
    pub name: Option<String>,
}

/// Why a provider does not say who somebody is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// Nobody has set it up.
    #[error("the provider is not set up")]
    NotConfigured,
    /// It did not answer, or not in time, or not as a provider does.
    #[error("the provider does not answer")]
    Unreachable,
    /// It refused, under this code of its own.
    #[error("the provider refused: {0}")]
    Refused(String),
    /// What it says cannot be believed.
    #[error("the provider's token is not good")]
    BadToken,
}

/// Speaks to identity providers. It alone knows how they are set up.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait IdentityProviders: Send + Sync {
    /// Where a browser signs in.
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
    /// What is kept of the state that the provider hands back.
    pub hash: TokenHash,
    /// What is kept of the cookie of the browser that began it.
    pub browser: TokenHash,
    /// What it goes on with.
    pub flow: ProviderFlow,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// Where sign-ins that are at a provider are kept, sealed.
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
    /// They may use it.
    Active(Account),
    /// They may not, or no longer.
    Deactivated,
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

    /// Whether any account has this address, in any case, a deactivated one
    /// too.
    async fn has_address(&self, email: &str) -> Result<bool, Unavailable>;
}

/// A one-time code that is about to be handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSignInCode {
    /// What is kept of it.
    pub hash: TokenHash,
    /// Whom it signs in.
    pub user: UserId,
    /// What whoever redeems it must answer.
    pub challenge: CodeChallenge,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// What came of presenting a one-time code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeRedemption {
    /// It was good, and is no longer. It gives a session only once that is
    /// [settled](SignInCodes::settle).
    Redeemed(UserId),
    /// It is not good. If it was, it is no longer.
    Refused,
    /// It was redeemed before. What it gave is over, or will not be settled.
    Replayed(UserId),
}

/// What is written with the end of a session that a code gave.
pub type ReplayEffects = fn(UserId, Timestamp) -> SideEffects;

/// Where one-time codes are kept.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait SignInCodes: Send + Sync {
    /// Stores one, unless its account is no more or deactivated.
    async fn put(&self, new: NewSignInCode) -> Result<Begun, Unavailable>;

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

/// Whether the licence lets accounts be made at all, whatever seats are left.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
pub trait LicenceInForce: Send + Sync {
    /// Whether it has not ended.
    fn in_force(&self) -> bool;
}
