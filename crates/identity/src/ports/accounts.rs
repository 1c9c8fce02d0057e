//! Store of accounts.

use async_trait::async_trait;
use pia_kernel::{Secret, SessionId, SideEffects, Timestamp, Unavailable, UserId};

use super::{Candidate, PresentedInvitation, TokenHash};
use crate::people::account::{Account, ApiKeyRef, CallerState, CustomerType};
use crate::sign_in::device::Network;

/// An account that is about to be made.
#[derive(Debug, Clone)]
pub struct NewAccount {
    /// The account; its address is the only one spelled so, whatever its case.
    pub account: Account,
    /// Password hash, made by [`PasswordHasher`](crate::PasswordHasher); nothing if it has none.
    pub password_hash: Option<Secret<String>>,
    /// External identity that vouches for it.
    pub identity: Option<ProviderIdentity>,
    /// Token that verifies the owner's email address.
    pub verification: Option<NewEmailToken>,
    /// The invitation that it uses up. Role and group are the invitation's.
    pub invitation: Option<PresentedInvitation>,
}

impl NewAccount {
    /// An account with a password, which nothing else is stored with.
    pub fn local(account: Account, password_hash: Secret<String>) -> Self {
        let password_hash = Some(password_hash);
        Self { account, password_hash, identity: None, verification: None, invitation: None }
    }
}

/// Whom an identity provider knows somebody as. Both together are theirs for
/// ever; neither is an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderIdentity {
    /// Id of the provider.
    pub issuer: String,
    /// User's id at the provider.
    pub subject: String,
}

/// Purpose of a token in an email.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmailTokenPurpose {
    /// Showing that the address is its owner's.
    Verification,
    /// Choosing another password.
    PasswordReset,
}

impl EmailTokenPurpose {
    /// Name where it is stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::Verification => "verification",
            Self::PasswordReset => "password_reset",
        }
    }
}

/// A token that goes out in a letter; it is good once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEmailToken {
    /// Hash of the token.
    pub hash: TokenHash,
    /// Purpose of the token.
    pub purpose: EmailTokenPurpose,
    /// Time at which it ends.
    pub expires_at: Timestamp,
}

/// Outcome of making an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registered {
    /// Account was created.
    Stored,
    /// An account with this address was there before.
    EmailTaken,
    /// Licence has no seat left.
    SeatsTaken,
    /// Invitation is unknown, used or for another address, or would exceed the licence's
    /// administrators. Checked before the address and seats.
    NotInvited,
}

/// An account as sign-in reads it.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// The account.
    pub account: Account,
    /// Password hash; nothing if it has none.
    pub password_hash: Option<Secret<String>>,
}

/// Store of accounts.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait AccountStore: Send + Sync {
    /// Stores a new account and its effects, atomically.
    ///
    /// However many register at once, no address is stored twice (compared
    /// without regard to case), no more than `seats` accounts are active, and
    /// no invitation is used twice. One that is not used stays.
    async fn register(
        &self,
        new: NewAccount,
        seats: Option<u32>,
        effects: SideEffects,
    ) -> Result<Registered, Unavailable>;

    /// The account with this address, however it is spelled; nothing if there
    /// is none or it is deactivated. Of two that a version before stored under
    /// two spellings of one domain, it is the one that was spelled like this.
    async fn by_email(&self, email: &str) -> Result<Option<Credentials>, Unavailable>;

    /// Returns the account with the facts that sign-in needs besides: whether
    /// it was signed in to from this network since `since`, and whether it has
    /// a second factor.
    async fn candidate(
        &self,
        email: &str,
        from: Option<Network>,
        since: Timestamp,
    ) -> Result<Option<Candidate>, Unavailable>;

    /// The account as it is now.
    async fn find(&self, user: UserId) -> Result<Option<Account>, Unavailable>;

    /// Loads the account and the session of a presented token as they are now,
    /// never from a cache; nothing if either is gone, the account is
    /// deactivated or the session has ended.
    async fn standing(
        &self,
        user: UserId,
        session: SessionId,
        now: Timestamp,
    ) -> Result<Option<CallerState>, Unavailable>;

    /// Loads the account and the API key of a caller as they are now: nothing
    /// if the account is gone or deactivated, the key has expired or was
    /// revoked, or its scopes are not known here.
    async fn key_standing(
        &self,
        session_ref: ApiKeyRef,
        now: Timestamp,
    ) -> Result<Option<CallerState>, Unavailable>;

    /// Replaces what is stored of a password, if it is still `old`.
    async fn rehash(
        &self,
        user: UserId,
        old: &Secret<String>,
        new: &Secret<String>,
    ) -> Result<(), Unavailable>;

    /// Records the declaration of a trader, with its effects. Answers whether
    /// there was such an account.
    async fn declare(
        &self,
        user: UserId,
        customer: CustomerType,
        company: &str,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;
}
