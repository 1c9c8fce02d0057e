//! Port of the tokens in emailed links; implemented in `storage-identity`.

use async_trait::async_trait;
use pia_kernel::{SideEffects, Timestamp, Unavailable, UserId};

use super::{EmailTokenPurpose, NewEmailToken, TokenHash};

/// Store of the tokens that are sent in emails.
///
/// A token exists until it expires, is redeemed, or is superseded by newer ones. The tokens of one
/// account are changed serially, across all instances, and none is valid for a deactivated account.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait EmailTokenStore: Send + Sync {
    /// Stores a token of a user, if any, and writes the effects, atomically; writes nothing if the
    /// user has no active account.
    ///
    /// Of a user's tokens for one purpose at most three are valid: the oldest is replaced, so that
    /// any of the emails works if the user requests again because one is late.
    async fn put(
        &self,
        user: UserId,
        token: Option<NewEmailToken>,
        effects: SideEffects,
    ) -> Result<(), Unavailable>;

    /// Writes about as much as [`put`](Self::put) without a lasting effect, so that the time does
    /// not reveal which addresses have accounts.
    async fn pretend(&self, at: Timestamp) -> Result<(), Unavailable>;

    /// Returns the account of the token, if it is valid for that purpose.
    async fn owner(
        &self,
        token: TokenHash,
        purpose: EmailTokenPurpose,
        now: Timestamp,
    ) -> Result<Option<UserId>, Unavailable>;

    /// Consumes a token that verifies its user's address, with its effects. Returns whether it was
    /// valid; of concurrent calls one succeeds.
    async fn verify(
        &self,
        user: UserId,
        token: TokenHash,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;

    /// Consumes a token, stores the new address as verified with the effects, and deletes every
    /// other token of the user. Under concurrency, no address is stored twice.
    async fn change_address(
        &self,
        change: AddressChange,
    ) -> Result<AddressChangeOutcome, Unavailable>;

    /// Deletes tokens that expired before `now`. Returns their number.
    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable>;
}

/// Change of a user's address by the token that was sent to the new one.
#[derive(Debug, Clone)]
pub struct AddressChange {
    /// User who requested the change.
    pub user: UserId,
    /// Hash of the token with the address.
    pub token: TokenHash,
    /// New address, in display form.
    pub email: String,
    /// Time of the change, at which the new address is verified.
    pub at: Timestamp,
    /// Side effects, written only if the address changes.
    pub effects: SideEffects,
}

/// Outcome of changing an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressChangeOutcome {
    /// Address was changed, and counts as verified.
    Changed,
    /// Token is unknown, of another user, used or expired.
    InvalidToken,
    /// Another account has the address.
    Taken,
}
