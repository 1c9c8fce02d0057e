//! Port of accounts; implemented in `storage-identity`.
//!
//! `CallerCache` alone calls `caller_state` and `key_state`, for the gates.
//! The other methods are for use cases.

use async_trait::async_trait;
use pia_kernel::{GroupId, Secret, SessionId, SideEffects, Timestamp, Unavailable, UserId};

use super::{Candidate, PresentedInvitation, TokenHash};
use crate::people::account::{Account, ApiKeyRef, CallerState, CustomerType};
use crate::sign_in::device::Network;

/// Store of accounts, whose addresses are unique without regard to case.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait AccountStore: Send + Sync {
    /// Stores a new account and its effects, atomically.
    ///
    /// Under concurrency, no address is stored twice (compared case-insensitively), no more than
    /// `seats` accounts are active, and no invitation is used twice. An unused invitation stays.
    async fn register(
        &self,
        new: NewAccount,
        seats: Option<u32>,
        effects: SideEffects,
    ) -> Result<AccountCreationOutcome, Unavailable>;

    /// Returns the account with this address, in any spelling; `None` if there is none or it is
    /// deactivated. If an earlier version stored two accounts under two spellings of one domain,
    /// the exact spelling decides.
    async fn by_email(&self, email: &str) -> Result<Option<Credentials>, Unavailable>;

    /// Returns the account with further facts for sign-in: whether it was signed in to from this
    /// network since `since`, and whether it has a second factor.
    async fn candidate(
        &self,
        email: &str,
        from: Option<Network>,
        since: Timestamp,
    ) -> Result<Option<Candidate>, Unavailable>;

    /// Returns the account, active or deactivated; `None` once it is deleted.
    async fn find(&self, user: UserId) -> Result<Option<Account>, Unavailable>;

    /// Returns the group of an account; `None` if the account is gone or
    /// deactivated.
    async fn active_group(&self, user: UserId) -> Result<Option<GroupId>, Unavailable>;

    /// Loads the account and the session of a presented token, never from a cache; `None` if either
    /// is gone, the account is deactivated or the session has ended.
    async fn caller_state(
        &self,
        user: UserId,
        session: SessionId,
        now: Timestamp,
    ) -> Result<Option<CallerState>, Unavailable>;

    /// Loads the account and the API key of a caller; `None` if the account is gone or deactivated,
    /// the key has expired or was revoked, or its scopes are unknown to this version.
    async fn key_state(
        &self,
        key: ApiKeyRef,
        now: Timestamp,
    ) -> Result<Option<CallerState>, Unavailable>;

    /// Replaces the password hash if it is still `old`.
    async fn rehash(
        &self,
        user: UserId,
        old: &Secret<String>,
        new: &Secret<String>,
    ) -> Result<(), Unavailable>;

    /// Replaces the display name, with the effects. Returns whether the account exists.
    async fn rename(
        &self,
        user: UserId,
        name: Option<String>,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;

    /// Records the declaration of a trader, with its effects. Returns whether the account exists.
    async fn declare(
        &self,
        user: UserId,
        customer: CustomerType,
        company: &str,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;
}

/// An account that is about to be created.
#[derive(Debug, Clone)]
pub struct NewAccount {
    /// The account. Its address must be unique, ignoring case.
    pub account: Account,
    /// Password hash from [`PasswordHasher`](crate::PasswordHasher); `None` if it has no password.
    pub password_hash: Option<Secret<String>>,
    /// Identity at a provider that it signs in with.
    pub identity: Option<ProviderIdentity>,
    /// Token that verifies its email address.
    pub verification: Option<NewEmailToken>,
    /// Invitation that it consumes; role and group are the invitation's.
    pub invitation: Option<PresentedInvitation>,
}

impl NewAccount {
    /// Returns an account with a password and nothing else.
    pub fn local(account: Account, password_hash: Secret<String>) -> Self {
        let password_hash = Some(password_hash);
        Self { account, password_hash, identity: None, verification: None, invitation: None }
    }
}

/// Identity of a user at a provider. The pair is permanent; neither part is an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderIdentity {
    /// URL that identifies the provider.
    pub issuer: String,
    /// User's id at the provider.
    pub subject: String,
}

/// Purpose of a token in an email.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmailTokenPurpose {
    /// Verifies that the address belongs to the account's user.
    Verification,
    /// Replaces a forgotten password.
    PasswordReset,
    /// Changing the address of an account.
    AddressChange,
}

impl EmailTokenPurpose {
    /// Returns the name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Verification => "verification",
            Self::PasswordReset => "password_reset",
            Self::AddressChange => "address_change",
        }
    }
}

/// A single-use token that is sent in an email.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEmailToken {
    /// Hash under which it is found; the token itself is only in the email.
    pub hash: TokenHash,
    /// Use that it is valid for; for any other, it counts as unknown.
    pub purpose: EmailTokenPurpose,
    /// Time from which it is invalid.
    pub expires_at: Timestamp,
}

/// Outcome of creating an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountCreationOutcome {
    /// Account was created, with its effects.
    Stored,
    /// Address has an account already.
    EmailTaken,
    /// Licence has no seat left.
    SeatsTaken,
    /// Invitation is unknown, used or for another address, or would exceed the licence's
    /// administrators. Checked before the address and seats.
    NotInvited,
}

/// Account and password hash for sign-in.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// Account as of the moment of the look-up.
    pub account: Account,
    /// Password hash; `None` if it has no password.
    pub password_hash: Option<Secret<String>>,
}
