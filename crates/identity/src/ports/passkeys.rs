//! Ports of passkeys.

use async_trait::async_trait;
use pia_kernel::{PasskeyId, Secret, SessionId, SideEffects, Timestamp, Unavailable, UserId};

use super::{FactorChange, TokenHash, VerifiedProof};
use crate::people::account::Account;

/// Challenge of an authenticator, and the state its answer is verified against.
#[derive(Debug, Clone)]
pub struct Ceremony {
    /// For the browser: options of `navigator.credentials`, as JSON.
    pub options: String,
    /// For [`PasskeyCeremony`] alone, which understands it.
    pub state: Secret<String>,
}

/// A passkey that was just made, as [`PasskeyCeremony`] knows it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyCredential {
    /// Credential id of the authenticator, unique across accounts.
    pub id: Vec<u8>,
    /// Public key in the text form of [`PasskeyCeremony`].
    pub key: String,
    /// Signature counter; always zero if the authenticator does not count.
    pub counter: u32,
}

/// Passkey that an answer claims to be signed with. Nothing of that is verified
/// yet.
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
    /// Response fails verification.
    #[error("the answer is refused: {0}")]
    Refused(String),
    /// The server's own stored state cannot be parsed.
    #[error("what was kept cannot be read: {0}")]
    Unreadable(String),
}

/// Asks authenticators, and judges their answers.
///
/// An answer is taken only from a page of this server, for the very challenge
/// that it was called, and if the authenticator has made sure who uses it.
/// What counters say is for [`PasskeyStore::sign_in`] to judge.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
pub trait PasskeyCeremony: Send + Sync {
    /// Asks for a new passkey of an account, not from an authenticator that
    /// has one of `existing` already.
    fn begin_registration(
        &self,
        account: &Account,
        existing: Vec<Vec<u8>>,
    ) -> Result<Ceremony, Unavailable>;

    /// The passkey that was made.
    fn finish_registration(
        &self,
        state: &Secret<String>,
        answer: &str,
    ) -> Result<PasskeyCredential, CeremonyError>;

    /// Asks for a signature with whichever passkey there is.
    fn begin_sign_in(&self) -> Result<Ceremony, Unavailable>;

    /// Returns the passkey that an answer claims to be signed with.
    fn claimant(&self, answer: &str) -> Result<ClaimedPasskey, CeremonyError>;

    /// Returns the signature counter of the passkey, if this is its signature.
    fn finish_sign_in(
        &self,
        state: &Secret<String>,
        answer: &str,
        key: &str,
    ) -> Result<u32, CeremonyError>;
}

/// Authorisation to add a passkey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasskeyAuthorization {
    /// A proof that the owner gave just now; it is used up.
    Evidence(VerifiedProof),
    /// Session that must not have begun earlier, of a user without another proof.
    NewSession {
        /// The session that asks.
        session: SessionId,
        /// Earliest permitted start of the session.
        since: Timestamp,
    },
}

/// A challenge that waits for an authenticator's answer.
#[derive(Debug, Clone)]
pub struct NewPasskeyChallenge {
    /// Hash of its token.
    pub hash: TokenHash,
    /// State that its answer is verified against.
    pub state: Secret<String>,
    /// Expiry time.
    pub expires_at: Timestamp,
}

/// Store of challenges until they are answered. Those that add a passkey are
/// separate from those that sign in.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait PasskeyChallenges: Send + Sync {
    /// Stores a challenge that adds a passkey of a user, and spends the leave
    /// to do so, with its effects. Answers whether that was good; if it was
    /// not, nothing is stored.
    async fn open_registration(
        &self,
        user: UserId,
        leave: PasskeyAuthorization,
        challenge: NewPasskeyChallenge,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;

    /// Stores a challenge that signs somebody in.
    async fn open_sign_in(&self, challenge: NewPasskeyChallenge) -> Result<(), Unavailable>;

    /// Takes a challenge away that adds a passkey of this user. However many
    /// ask at once, one gets its state; and nobody does who comes late.
    async fn take_registration(
        &self,
        user: UserId,
        hash: TokenHash,
        now: Timestamp,
    ) -> Result<Option<Secret<String>>, Unavailable>;

    /// Takes a challenge of a sign-in; it is gone afterwards.
    async fn take_sign_in(
        &self,
        hash: TokenHash,
        now: Timestamp,
    ) -> Result<Option<Secret<String>>, Unavailable>;

    /// Forgets challenges that ended before `now`. Answers how many they were.
    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable>;
}

/// A passkey that is about to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPasskey {
    /// The passkey.
    pub id: PasskeyId,
    /// Name chosen by the owner.
    pub name: String,
    /// Credential that identifies it.
    pub credential: PasskeyCredential,
}

/// Outcome of storing a passkey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasskeyAdded {
    /// Passkey was stored.
    Stored,
    /// Passkey was stored before, for this account or another.
    Known,
    /// The account has as many as it may have.
    Full,
    /// The session that asked is over, or its account deactivated.
    SessionOver,
}

/// A passkey as its owner is notified of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyEntry {
    /// The passkey.
    pub id: PasskeyId,
    /// Name chosen by the owner.
    pub name: String,
    /// Time at which it was added.
    pub created_at: Timestamp,
    /// Time of the last sign-in with it.
    pub used_at: Option<Timestamp>,
    /// Time since which it is blocked, because it may be cloned.
    pub blocked_at: Option<Timestamp>,
    /// Credential id, chosen by the authenticator.
    pub credential: Vec<u8>,
}

/// A passkey as sign-in reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPasskey {
    /// The passkey.
    pub id: PasskeyId,
    /// Owner of the passkey.
    pub user: UserId,
    /// Name chosen by the owner.
    pub name: String,
    /// Public key that verifies signatures.
    pub key: String,
}

/// A good signature of a passkey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyUse {
    /// Id of the passkey.
    pub id: PasskeyId,
    /// Owner of the passkey.
    pub user: UserId,
    /// Signature counter as reported by the authenticator.
    pub counter: u32,
    /// Time of the sign-in.
    pub at: Timestamp,
    /// Side effects of the sign-in.
    pub effects: SideEffects,
    /// Side effects if the counter went back and the passkey is blocked for
    /// that.
    pub if_rolled_back: SideEffects,
}

/// Outcome of a passkey's use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenUse {
    /// Use was recorded.
    Noted,
    /// The counter is not beyond the one before, though either counts: there
    /// is a copy of the passkey, which is blocked from now on.
    RolledBack,
    /// Passkey was blocked before.
    Blocked,
    /// No such passkey any more.
    Gone,
}

/// Changes to a passkey.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PasskeyChange {
    /// Name from now on.
    pub name: Option<String>,
    /// True if the passkey is to sign in again, whatever its next counter is.
    pub unblock: bool,
}

/// Store of passkeys.
///
/// Changes of one account's passkeys happen one after another, on any number of
/// instances, and none of them after its account is deactivated.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait PasskeyStore: Send + Sync {
    /// Stores a passkey, and ends the other sessions; or neither. However many
    /// are stored at once, an account has `max`, and each credential is there
    /// once.
    async fn add(
        &self,
        change: FactorChange,
        new: NewPasskey,
        max: usize,
    ) -> Result<PasskeyAdded, Unavailable>;

    /// Every passkey of a user, in the order in which they were added.
    async fn of_user(&self, user: UserId) -> Result<Vec<PasskeyEntry>, Unavailable>;

    /// The passkey that its authenticator calls so, if its account is active.
    async fn find(&self, credential: &[u8]) -> Result<Option<StoredPasskey>, Unavailable>;

    /// Removes a passkey, and ends the other sessions; or neither. Answers
    /// whether the user had it, and the session was not over.
    async fn remove(&self, change: FactorChange, id: PasskeyId) -> Result<bool, Unavailable>;

    /// Changes a passkey, with what is written if that lets it in again.
    /// Answers whether the user has it.
    async fn change(
        &self,
        user: UserId,
        id: PasskeyId,
        change: PasskeyChange,
        if_unblocked: SideEffects,
    ) -> Result<bool, Unavailable>;

    /// Writes down that a passkey was used, unless it is blocked; one whose
    /// counter went back is blocked. Of many uses with one counter at
    /// once, one is; only those who do not count at all have zero always.
    async fn sign_in(&self, used: PasskeyUse) -> Result<TokenUse, Unavailable>;
}
