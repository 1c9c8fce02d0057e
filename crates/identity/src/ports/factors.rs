//! Ports of second factors; implemented in `storage-identity`, and for encryption in `server`.
//!
//! `FactorStore` has the authenticator and the recovery codes of an account,
//! `ChallengeStore` the sign-ins that wait for one of them. A use case
//! verifies a proof without a store as far as possible; the store that
//! receives the `VerifiedProof` consumes it with the change.

use async_trait::async_trait;
use pia_kernel::{Secret, SessionId, SideEffects, Timestamp, Unavailable, UserId};

use super::{EndEffects, SessionStartOutcome, TokenHash};
use crate::people::account::CredentialsEpoch;
use crate::sessions::access_tokens::SessionRef;

/// Encryption of users' secrets, so that a copy of the database does not reveal them.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait SecretBox: Send + Sync {
    /// Seals a secret of a user; `None` if the account is gone. It can be opened for the same user
    /// and purpose only.
    async fn seal(
        &self,
        user: UserId,
        purpose: &'static str,
        secret: &Secret<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, Unavailable>;

    /// Opens a sealed secret; `None` if it was altered or its key is lost.
    async fn open(
        &self,
        user: UserId,
        purpose: &'static str,
        sealed: &[u8],
    ) -> Result<Option<Secret<Vec<u8>>>, Unavailable>;

    /// Returns whether a sealed secret is under an old key and should be sealed again.
    fn is_outdated(&self, sealed: &[u8]) -> bool;
}

/// Store of second factors.
///
/// Changes of one account's factor are serialised, across all instances, and refused after its
/// account is deactivated or its session is over.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait FactorStore: Send + Sync {
    /// Returns the factor of a user, on or pending.
    async fn factor(&self, user: UserId) -> Result<Option<Factor>, Unavailable>;

    /// Returns the number of a user's unused recovery codes.
    async fn codes_left(&self, user: UserId) -> Result<u32, Unavailable>;

    /// Stores the sealed secret of a pending factor, in place of another pending one. Returns
    /// `AlreadyOn` if a factor is on.
    async fn begin(
        &self,
        user: UserId,
        sealed: &[u8],
        at: Timestamp,
    ) -> Result<EnrolmentOutcome, Unavailable>;

    /// Enables the factor that is pending with `sealed`, after its code of `step` was presented,
    /// and replaces the recovery codes. Returns whether this call enabled it.
    async fn enable(
        &self,
        change: FactorChange,
        sealed: &[u8],
        step: Step,
        codes: &[RecoveryHash],
    ) -> Result<bool, Unavailable>;

    /// Disables the factor, and deletes its recovery codes and challenges. Returns whether the
    /// proof was valid; of concurrent calls one succeeds.
    async fn disable(
        &self,
        change: FactorChange,
        verified_proof: VerifiedProof,
    ) -> Result<bool, Unavailable>;

    /// Replaces the recovery codes. Returns whether the proof was valid; except for a password, it
    /// is valid once.
    async fn replace_codes(
        &self,
        change: FactorChange,
        verified_proof: VerifiedProof,
        codes: &[RecoveryHash],
    ) -> Result<bool, Unavailable>;

    /// Consumes a proof for a change in another store, and writes the effects. Returns whether it
    /// was valid; of concurrent calls one succeeds.
    async fn spend(
        &self,
        session_ref: SessionRef,
        verified_proof: VerifiedProof,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;

    /// Replaces a sealed secret by the newly sealed one, if it is still `old`.
    async fn reseal(&self, user: UserId, old: &[u8], new: &[u8]) -> Result<(), Unavailable>;

    /// Deletes factors that have been pending since before `since`. Returns their number.
    async fn sweep(&self, since: Timestamp) -> Result<u64, Unavailable>;
}

/// Progress of setting up an authenticator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactorState {
    /// Secret was issued, and no code of it was presented yet.
    Pending {
        /// Time of issue, from which the enrolment's lifetime counts.
        at: Timestamp,
    },
    /// Sign-in requires a code.
    On,
}

/// A user's authenticator app, of which an account has at most one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Factor {
    /// Secret that codes are generated from, sealed by [`SecretBox`].
    pub sealed: Vec<u8>,
    /// Progress of its setup; only `On` protects the account.
    pub state: FactorState,
}

/// Number of the thirty-second interval in which a code is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step(pub i64);

/// Stored hash of a recovery code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RecoveryHash(pub [u8; 32]);

/// Proof of a user, verified as far as that needs no store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerifiedProof {
    /// Correct password; stores do not consume it.
    Password,
    /// Sign-in so recent that no further proof is needed.
    SignIn,
    /// Correct code of this step; valid if no code of this or a later step was used before.
    Code(Step),
    /// Recovery code; valid if it is unused.
    RecoveryCode(RecoveryHash),
}

/// A change of an account's second factor, made from one of its sessions.
#[derive(Debug, Clone)]
pub struct FactorChange {
    /// Owner of the factor, who makes the change.
    pub user: UserId,
    /// Session that stays open; all others of the user end.
    pub session: SessionId,
    /// Time of the change, for its effects.
    pub at: Timestamp,
    /// Side effects of the change.
    pub effects: SideEffects,
    /// Side effects of the end of each other session.
    pub if_ended: EndEffects,
}

impl FactorChange {
    /// Returns the session that makes the change.
    pub fn session_ref(&self) -> SessionRef {
        SessionRef { user: self.user, session: self.session }
    }
}

/// Outcome of storing the secret of a new factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnrolmentOutcome {
    /// Enrolment waits for its first code.
    Pending,
    /// Another factor is on and must be disabled first.
    AlreadyOn,
    /// Account is gone or deactivated.
    Gone,
}

/// Store of sign-ins that wait for their second factor.
///
/// A challenge exists until it expires, is answered, its account is deactivated, its password
/// replaced or its factor disabled.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait ChallengeStore: Send + Sync {
    /// Stores a challenge. Returns `Stale` if its account is gone or deactivated, or its
    /// credentials are not those of the challenge's epoch.
    async fn open(&self, challenge: NewChallenge) -> Result<SessionStartOutcome, Unavailable>;

    /// Returns the account of the challenge, if it exists and was tried fewer
    /// than `max` times.
    async fn owner(
        &self,
        hash: TokenHash,
        max: u32,
        now: Timestamp,
    ) -> Result<Option<UserId>, Unavailable>;

    /// Counts an attempt. Returns whether it is allowed: of concurrent calls, at most `max` are.
    async fn attempt(&self, hash: TokenHash, max: u32, now: Timestamp)
    -> Result<bool, Unavailable>;

    /// Consumes a challenge and the proof that answers it, atomically. Of concurrent calls one is
    /// `Done`.
    async fn redeem(&self, redemption: Redemption) -> Result<RedemptionOutcome, Unavailable>;

    /// Deletes challenges that expired before `now`. Returns their number.
    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable>;
}

/// A sign-in that waits for its second factor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewChallenge {
    /// Hash under which it is found; only the client has the token.
    pub hash: TokenHash,
    /// Account whose password was verified.
    pub user: UserId,
    /// Version of the credentials that were verified.
    pub epoch: CredentialsEpoch,
    /// Time from which answers are refused.
    pub expires_at: Timestamp,
}

/// Side effects of answering a challenge, by the number of recovery codes left if one was used.
pub type RedeemEffects = fn(UserId, Timestamp, Option<u64>) -> SideEffects;

/// A verified answer to a challenge.
#[derive(Debug, Clone)]
pub struct Redemption {
    /// Hash of the challenge's token.
    pub hash: TokenHash,
    /// Account that is signing in.
    pub user: UserId,
    /// Proof that it is answered with; consumed unless it is a password.
    pub verified: VerifiedProof,
    /// Time of the answer; an expired challenge is refused.
    pub at: Timestamp,
    /// Side effects of the redemption.
    pub effects: RedeemEffects,
}

/// Outcome of answering a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedemptionOutcome {
    /// Challenge was completed and deleted.
    Done,
    /// The proof is no longer valid; the challenge remains.
    Stale,
    /// Challenge does not exist any more.
    Gone,
}
