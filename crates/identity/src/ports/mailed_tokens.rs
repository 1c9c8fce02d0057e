//! Ports of emails with links.

use async_trait::async_trait;
use pia_kernel::{SideEffects, Timestamp, Unavailable, UserId};

use super::{EmailTokenPurpose, NewEmailToken, TokenHash};

/// Store of the tokens that are sent in emails.
///
/// A token is there until it ends, is redeemed, or too many newer ones are. The
/// tokens of one account are changed one after another, on any number of
/// instances, and none is good for an account that is deactivated.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait EmailTokenStore: Send + Sync {
    /// Keeps a token of a user, if there is one, and writes its effects,
    /// atomically; nothing of it if they have no active account.
    ///
    /// Of a user's tokens for one purpose no more than three are good at once:
    /// the oldest makes room, so that who asks again because a letter is late
    /// may open any of them.
    async fn put(
        &self,
        user: UserId,
        token: Option<NewEmailToken>,
        effects: SideEffects,
    ) -> Result<(), Unavailable>;

    /// Writes about as much as [`put`](Self::put) does and leaves nothing, so
    /// that the time reveals to nobody which addresses have accounts.
    async fn pretend(&self, at: Timestamp) -> Result<(), Unavailable>;

    /// Returns the account of the token, if it is valid for that purpose.
    async fn owner(
        &self,
        token: TokenHash,
        purpose: EmailTokenPurpose,
        now: Timestamp,
    ) -> Result<Option<UserId>, Unavailable>;

    /// Spends a token that shows that the address is its user's, with its
    /// effects. Answers whether it was good for that; of many at once, one is.
    async fn verify(
        &self,
        user: UserId,
        token: TokenHash,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;

    /// Forgets tokens that ended before `now`. Answers how many they were.
    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable>;
}
