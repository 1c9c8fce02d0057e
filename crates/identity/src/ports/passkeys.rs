//! Ports of passkeys; implemented in `storage-identity`, and for WebAuthn in `passkeys`.
//!
//! `PasskeyCeremony` computes and stores nothing. `PasskeyChallenges` has the
//! state between the two requests of a ceremony, `PasskeyStore` the passkeys.

use async_trait::async_trait;
use pia_kernel::{PasskeyId, Secret, SessionId, SideEffects, Timestamp, Unavailable, UserId};

use super::{FactorChange, TokenHash, VerifiedProof};
use crate::people::account::Account;

/// Creates challenges for authenticators and verifies their responses.
///
/// A response is accepted only from a page of this server, for the very challenge, and if the
/// authenticator has verified the user. Signature counters are checked by
/// [`PasskeyStore::record_use`].
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
pub trait PasskeyCeremony: Send + Sync {
    /// Creates a challenge for a new passkey of an account, excluding authenticators that have one
    /// of `existing`.
    fn begin_registration(
        &self,
        account: &Account,
        existing: Vec<Vec<u8>>,
    ) -> Result<Ceremony, Unavailable>;

    /// Verifies the response to a challenge of [`begin_registration`](Self::begin_registration),
    /// and returns the new passkey.
    fn finish_registration(
        &self,
        state: &Secret<String>,
        response: &str,
    ) -> Result<PasskeyCredential, CeremonyError>;

    /// Creates a challenge to be signed with any passkey, for a sign-in or a proof.
    fn begin_sign_in(&self) -> Result<Ceremony, Unavailable>;

    /// Returns the passkey that a response claims to be signed with.
    fn claimant(&self, response: &str) -> Result<ClaimedPasskey, CeremonyError>;

    /// Returns the signature counter if the response was signed with the passkey.
    fn finish_sign_in(
        &self,
        state: &Secret<String>,
        response: &str,
        key: &str,
    ) -> Result<u32, CeremonyError>;
}

/// Challenge for an authenticator, and the state that its response is verified against.
#[derive(Debug, Clone)]
pub struct Ceremony {
    /// Options of `navigator.credentials` for the browser, as JSON.
    pub options: String,
    /// State that only [`PasskeyCeremony`] interprets.
    pub state: Secret<String>,
}

/// A new passkey as [`PasskeyCeremony`] identifies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyCredential {
    /// Credential id of the authenticator, unique across accounts.
    pub id: Vec<u8>,
    /// Public key in the text form of [`PasskeyCeremony`].
    pub key: String,
    /// Signature counter; always zero if the authenticator does not count.
    pub counter: u32,
}

/// Passkey that a response claims to be signed with, unverified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedPasskey {
    /// Credential id, chosen by the authenticator.
    pub credential: Vec<u8>,
    /// User handle that the authenticator reports.
    pub user: UserId,
}

/// Reasons for rejecting an authenticator's response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CeremonyError {
    /// Response is not in the form that browsers send.
    #[error("`{field}` is malformed")]
    Malformed {
        /// Path of the field: `credential.response.attestationObject`.
        field: String,
    },
    /// Response fails verification, for this reason.
    #[error("the response was rejected: {0}")]
    Refused(String),
    /// Stored state cannot be parsed.
    #[error("the stored value can't be read: {0}")]
    Unreadable(String),
}

/// Store of challenges until they are answered. Those for registration are separate from those for
/// sign-in.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait PasskeyChallenges: Send + Sync {
    /// Stores a challenge that adds a passkey of a user, and consumes the authorisation, with its
    /// effects. Returns whether the authorisation was valid; otherwise nothing is stored.
    async fn open_registration(
        &self,
        user: UserId,
        authorization: PasskeyAuthorization,
        challenge: NewPasskeyChallenge,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;

    /// Stores a challenge of a sign-in.
    async fn open_sign_in(&self, challenge: NewPasskeyChallenge) -> Result<(), Unavailable>;

    /// Removes a challenge that adds a passkey of this user, and returns its state; `None` if the
    /// challenge is unknown or expired. Of concurrent calls, one gets the state.
    async fn take_registration(
        &self,
        user: UserId,
        hash: TokenHash,
        now: Timestamp,
    ) -> Result<Option<Secret<String>>, Unavailable>;

    /// Removes a challenge of a sign-in, and returns its state.
    async fn take_sign_in(
        &self,
        hash: TokenHash,
        now: Timestamp,
    ) -> Result<Option<Secret<String>>, Unavailable>;

    /// Deletes challenges that expired before `now`. Returns their number.
    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable>;
}

/// Authorisation to add a passkey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasskeyAuthorization {
    /// Fresh proof of the owner; it is consumed.
    Evidence(VerifiedProof),
    /// Recent session of a user without another proof.
    NewSession {
        /// Session of the caller, which must be live.
        session: SessionId,
        /// Earliest permitted start of the session.
        since: Timestamp,
    },
}

/// A challenge that waits for its response.
#[derive(Debug, Clone)]
pub struct NewPasskeyChallenge {
    /// Hash under which it is found; only the browser has the token.
    pub hash: TokenHash,
    /// State that the response is verified against.
    pub state: Secret<String>,
    /// Time from which responses are refused.
    pub expires_at: Timestamp,
}

/// Store of passkeys.
///
/// Changes of one account's passkeys are serialised, across all instances, and refused after its
/// account is deactivated.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait PasskeyStore: Send + Sync {
    /// Stores a passkey and ends the other sessions, atomically. Returns `Full` if the account
    /// already has `max` passkeys and `Known` if the credential is stored, even with concurrent
    /// calls.
    async fn add(
        &self,
        change: FactorChange,
        new: NewPasskey,
        max: usize,
    ) -> Result<PasskeyCreationOutcome, Unavailable>;

    /// Returns the passkeys of a user in order of creation.
    async fn of_user(&self, user: UserId) -> Result<Vec<PasskeyEntry>, Unavailable>;

    /// Returns the passkey with this credential id, if its account is active.
    async fn find(&self, credential: &[u8]) -> Result<Option<StoredPasskey>, Unavailable>;

    /// Removes a passkey and ends the other sessions, atomically. Returns whether the user had it
    /// and the session is not over.
    async fn remove(&self, change: FactorChange, id: PasskeyId) -> Result<bool, Unavailable>;

    /// Changes a passkey, with the effects of unblocking it if it was blocked. Returns whether the
    /// user has it.
    async fn change(
        &self,
        user: UserId,
        id: PasskeyId,
        change: PasskeyChange,
        if_unblocked: SideEffects,
    ) -> Result<bool, Unavailable>;

    /// Records the use of a passkey that is not blocked, and blocks a passkey whose counter went
    /// back. Of concurrent uses with one counter, only the first is recorded, unless the counter is
    /// zero: authenticators that do not count always report zero.
    async fn record_use(&self, passkey_use: PasskeyUse) -> Result<PasskeyUseOutcome, Unavailable>;
}

/// A passkey that is about to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPasskey {
    /// Id that its owner names to rename or remove it.
    pub id: PasskeyId,
    /// Name chosen by the owner.
    pub name: String,
    /// Credential that it is found and verified by.
    pub credential: PasskeyCredential,
}

/// Outcome of storing a passkey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasskeyCreationOutcome {
    /// Passkey was stored, and the other sessions ended.
    Stored,
    /// Passkey was stored before, for this account or another.
    Known,
    /// Account has the maximum number of passkeys.
    Full,
    /// Session is over, or its account deactivated.
    SessionOver,
}

/// A passkey in its owner's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyEntry {
    /// Id that its owner names to rename or remove it.
    pub id: PasskeyId,
    /// Name chosen by the owner.
    pub name: String,
    /// Time when it was added.
    pub created_at: Timestamp,
    /// Time of the last sign-in or proof with it.
    pub used_at: Option<Timestamp>,
    /// Time since which it is blocked, because it may be cloned.
    pub blocked_at: Option<Timestamp>,
    /// Credential id, chosen by the authenticator.
    pub credential: Vec<u8>,
}

/// A passkey for the verification of a sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPasskey {
    /// Id under which its use is recorded.
    pub id: PasskeyId,
    /// Owner, whose account it opens.
    pub user: UserId,
    /// Name chosen by the owner.
    pub name: String,
    /// Public key that verifies signatures.
    pub key: String,
}

/// A use of a passkey with a valid signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyUse {
    /// Passkey whose key signed the response.
    pub id: PasskeyId,
    /// Owner, whom the effects are about.
    pub user: UserId,
    /// Signature counter as reported by the authenticator.
    pub counter: u32,
    /// Time of the sign-in or proof, stored as the last use.
    pub at: Timestamp,
    /// Side effects of the use.
    pub effects: SideEffects,
    /// Side effects if the counter went back and the passkey is blocked.
    pub if_rolled_back: SideEffects,
}

/// Outcome of a passkey's use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasskeyUseOutcome {
    /// Counter and time of last use were stored.
    Recorded,
    /// Counter did not increase, though the authenticator counts: a copy of the passkey exists,
    /// which is blocked from now on.
    RolledBack,
    /// Passkey was blocked by an earlier use.
    Blocked,
    /// Passkey does not exist any more.
    Gone,
}

/// Changes to a passkey.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PasskeyChange {
    /// New name; `None` leaves it unchanged.
    pub name: Option<String>,
    /// True to unblock the passkey, whatever its next counter is.
    pub unblock: bool,
}
