//! Ports to identity providers, implemented in `providers`, and the stores of sign-ins with them,
//! implemented in `storage-identity`.
//!
//! A sign-in calls them in this order:
//! `IdentityProviders::authorization_url`, `ProviderFlows::put`; after the
//! provider's redirect `ProviderFlows::take`, `IdentityProviders::exchange`,
//! `ProviderAccounts::find`; and where a target waits for a code,
//! `SignInCodes`.

use async_trait::async_trait;
use pia_kernel::{Secret, SessionId, SideEffects, Timestamp, Unavailable, UserId};

use super::{ProviderIdentity, SessionStartOutcome, TokenHash};
use crate::people::account::Account;
use crate::providers::code_challenge::CodeChallenge;
use crate::providers::flow::ProviderFlow;
use crate::providers::provider::Provider;

/// Client of the identity providers. It alone knows their configuration.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait IdentityProviders: Send + Sync {
    /// Returns the URL of the provider's sign-in page for a browser.
    async fn authorization_url(
        &self,
        provider: Provider,
        request: &ProviderRequest,
    ) -> Result<String, ProviderError>;

    /// Exchanges a provider's code for claims. Signature, issuer, audience, nonce and time of the
    /// token are verified.
    async fn exchange(
        &self,
        provider: Provider,
        code: ProviderCode,
    ) -> Result<ProviderClaims, ProviderError>;
}

/// Secrets of one redirect to a provider.
#[derive(Debug, Clone)]
pub struct ProviderRequest {
    /// State that the provider sends back.
    pub state: Secret<String>,
    /// Nonce that the provider must include in its token.
    pub nonce: Secret<String>,
    /// PKCE verifier; the challenge is sent with the redirect, the verifier with the code.
    pub verifier: Secret<String>,
}

/// Authorisation code from a provider, with the values that it is checked against.
#[derive(Debug, Clone)]
pub struct ProviderCode {
    /// Authorisation code, which the provider accepts once.
    pub code: Secret<String>,
    /// Issuer named by the response.
    pub issuer: Option<String>,
    /// Nonce that the token must contain.
    pub nonce: Secret<String>,
    /// PKCE verifier of the challenge that was sent.
    pub verifier: Secret<String>,
}

/// Verified claims of a provider about a user: signed by it, for this server and this sign-in, and
/// recent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderClaims {
    /// Identity that the account is found by.
    pub identity: ProviderIdentity,
    /// Email address; `None` if the provider reports none.
    pub email: Option<String>,
    /// True if the provider verified the address; `None` if it makes no statement.
    pub email_verified: Option<bool>,
    /// True if the operator trusts the provider's addresses even if unverified.
    pub trusts_email: bool,
    /// Display name as the provider spells it, of any length.
    pub name: Option<String>,
}

/// Errors of identifying a user at a provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// Operator has not set up the provider, or no longer.
    #[error("the provider isn't configured")]
    NotConfigured,
    /// Provider did not respond, or not in time, or not according to the protocol.
    #[error("the provider doesn't respond")]
    Unreachable,
    /// Provider refused with this error code.
    #[error("the provider refused: {0}")]
    Refused(String),
    /// The token cannot be trusted.
    #[error("the provider's token is invalid")]
    BadToken,
}

/// Store of sign-ins in progress at a provider, sealed.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait ProviderFlows: Send + Sync {
    /// Stores a flow until its callback or its expiry.
    async fn put(&self, new: NewProviderFlow) -> Result<(), Unavailable>;

    /// Removes and returns a flow, if this browser started it and it has not expired.
    ///
    /// Of concurrent calls, one gets the flow. Another browser cannot remove it.
    async fn take(
        &self,
        hash: TokenHash,
        browser: TokenHash,
        now: Timestamp,
    ) -> Result<Option<ProviderFlow>, Unavailable>;

    /// Deletes flows that have expired. Returns their number.
    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable>;
}

/// A sign-in that is about to be redirected to a provider.
#[derive(Debug, Clone)]
pub struct NewProviderFlow {
    /// Hash of the state that the provider returns.
    pub hash: TokenHash,
    /// Hash of the cookie of the browser that started it.
    pub browser: TokenHash,
    /// State of the sign-in, which its callback needs.
    pub flow: ProviderFlow,
    /// Time from which its callback is refused.
    pub expires_at: Timestamp,
}

/// Accounts as sign-ins at providers look for them.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait ProviderAccounts: Send + Sync {
    /// Returns the account with this identity at the provider.
    async fn find(
        &self,
        provider: Provider,
        identity: &ProviderIdentity,
    ) -> Result<Option<KnownAccount>, Unavailable>;

    /// Links an identity to the account with its address, if the account is
    /// active, was created by a SCIM client, and has neither a password nor
    /// another identity. Returns the account; `None` if nothing was linked.
    ///
    /// Of concurrent calls for one account, one links its identity.
    async fn link_provisioned(
        &self,
        sign_in: ProvisionedSignIn,
    ) -> Result<Option<Account>, Unavailable>;

    /// Returns whether any account, active or deactivated, has this address,
    /// compared case-insensitively.
    async fn has_address(&self, email: &str) -> Result<bool, Unavailable>;
}

/// Account of a provider's user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KnownAccount {
    /// Account may sign in.
    Active(Account),
    /// Account is deactivated or gone.
    Deactivated,
}

/// First sign-in at a provider to an account that a SCIM client created.
#[derive(Debug, Clone)]
pub struct ProvisionedSignIn {
    /// Provider that identified the user.
    pub provider: Provider,
    /// Identity at the provider, which the account is linked to.
    pub identity: ProviderIdentity,
    /// Email address that the provider vouches for.
    pub email: String,
    /// Time of the sign-in, for its effects.
    pub at: Timestamp,
    /// Side effects of linking this account.
    pub effects: fn(UserId, Timestamp) -> SideEffects,
}

/// Store of one-time codes, each of which starts one session.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait SignInCodes: Send + Sync {
    /// Stores a code. Returns `Stale` if its account is gone or deactivated.
    async fn put(&self, new: NewSignInCode) -> Result<SessionStartOutcome, Unavailable>;

    /// Presents a code, which is consumed whatever the outcome.
    ///
    /// Of concurrent calls at most one redeems it. A code is refused with a wrong or missing
    /// challenge, after its expiry, and for a deactivated account. Presented again, it ends the
    /// session that it started, with the effects of `if_replayed`.
    async fn redeem(
        &self,
        hash: TokenHash,
        challenge: Option<CodeChallenge>,
        at: Timestamp,
        if_replayed: ReplayEffects,
    ) -> Result<CodeRedemptionOutcome, Unavailable>;

    /// Records the session that a redeemed code started. Returns false if the code has been
    /// presented again since: the session must not be used.
    async fn settle(&self, hash: TokenHash, session: SessionId) -> Result<bool, Unavailable>;

    /// Deletes codes that have expired. Returns their number.
    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable>;
}

/// A one-time code that is about to be issued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSignInCode {
    /// Hash under which it is found; the code itself is only in the redirect.
    pub hash: TokenHash,
    /// Account that it signs in to.
    pub user: UserId,
    /// PKCE challenge that the redeemer must answer.
    pub challenge: CodeChallenge,
    /// Time from which it is refused.
    pub expires_at: Timestamp,
}

/// Outcome of presenting a one-time code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeRedemptionOutcome {
    /// Code was valid and is consumed. The session counts only once it is
    /// [settled](SignInCodes::settle).
    Redeemed(UserId),
    /// Code is invalid, or was valid and is consumed without success.
    Refused,
    /// Code was redeemed before. Its session has ended, or will not be settled.
    Replayed(UserId),
}

/// Side effects of the end of a session that was started with the code.
pub type ReplayEffects = fn(UserId, Timestamp) -> SideEffects;

/// Check that the licence allows new accounts at all, independent of the seats left.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
pub trait LicenceInForce: Send + Sync {
    /// Returns whether the licence is in force.
    fn in_force(&self) -> bool;
}
