//! Ports of second factors.

use async_trait::async_trait;
use pia_kernel::{Secret, SessionId, SideEffects, Timestamp, Unavailable, UserId};

use super::{EndEffects, SessionStarted, TokenHash};
use crate::people::account::CredentialsEpoch;
use crate::sessions::access_tokens::SessionRef;

/// Keeps secrets of people so that the database alone does not give them away.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait SecretBox: Send + Sync {
    /// Seals a secret of a user; nothing if they have no account any more. It
    /// opens for the same user and purpose only.
    async fn seal(
        &self,
        user: UserId,
        purpose: &'static str,
        secret: &Secret<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, Unavailable>;

    /// Opens what was sealed; nothing if it was changed since, or its key is
    /// lost.
    async fn open(
        &self,
        user: UserId,
        purpose: &'static str,
        sealed: &[u8],
    ) -> Result<Option<Secret<Vec<u8>>>, Unavailable>;

    /// Returns whether what was sealed should be sealed anew while it can be
    /// opened.
    fn is_outdated(&self, sealed: &[u8]) -> bool;
}

/// Progress of setting up an authenticator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactorState {
    /// The secret was shown, and no code of it was seen yet.
    Begun {
        /// Time at which it was shown.
        at: Timestamp,
    },
    /// Signing in requests a code.
    On,
}

/// A user's authenticator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Factor {
    /// The secret that codes are made from, as [`SecretBox`] sealed it.
    pub sealed: Vec<u8>,
    /// State of the authenticator: whether signing in requests it.
    pub state: FactorState,
}

/// The number of the thirty seconds that a code is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step(pub i64);

/// Stored hash of a recovery code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RecoveryHash(pub [u8; 32]);

/// Proof of a user, verified as far as that needs no store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerifiedProof {
    /// The right password.
    Password,
    /// Fresh sign-in.
    SignIn,
    /// The right code of this step; good if neither it nor one of a later
    /// step was used before.
    Code(Step),
    /// A recovery code; good if it is among those that are left.
    RecoveryCode(RecoveryHash),
}

/// A change of an account's second factor, made from one of its sessions.
#[derive(Debug, Clone)]
pub struct FactorChange {
    /// Owner of the factor.
    pub user: UserId,
    /// The session that goes on; all others of the user end.
    pub session: SessionId,
    /// Time at which it is made.
    pub at: Timestamp,
    /// Side effects of the change.
    pub effects: SideEffects,
    /// Side effects of the end of each other session.
    pub if_ended: EndEffects,
}

impl FactorChange {
    /// Session of the change.
    pub fn session_ref(&self) -> SessionRef {
        SessionRef { user: self.user, session: self.session }
    }
}

/// Outcome of keeping the secret of a factor that is begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enrolled {
    /// Enrolment waits for its first code.
    Begun,
    /// A factor is on.
    AlreadyOn,
    /// The account is no more or deactivated.
    Gone,
}

/// Store of second factors.
///
/// Changes of one account's factor happen one after another, on any number of
/// instances, and none of them after its account is deactivated or its session
/// is over.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait FactorStore: Send + Sync {
    /// The factor of a user, on or just begun.
    async fn factor(&self, user: UserId) -> Result<Option<Factor>, Unavailable>;

    /// Returns how many recovery codes of a user are left.
    async fn codes_left(&self, user: UserId) -> Result<u32, Unavailable>;

    /// Keeps the sealed secret of a factor that is begun, in the place of one
    /// begun before, but not of one that is on.
    async fn begin(
        &self,
        user: UserId,
        sealed: &[u8],
        at: Timestamp,
    ) -> Result<Enrolled, Unavailable>;

    /// Puts the factor on that was begun with `sealed`, since its code of
    /// `step` was seen, with these recovery codes and no others. Answers
    /// whether it is this call that did.
    async fn enable(
        &self,
        change: FactorChange,
        sealed: &[u8],
        step: Step,
        codes: &[RecoveryHash],
    ) -> Result<bool, Unavailable>;

    /// Takes the factor off, and its recovery codes and challenges with it.
    /// Answers whether the evidence was good for that; of many at once, one is.
    async fn disable(
        &self,
        change: FactorChange,
        verified: VerifiedProof,
    ) -> Result<bool, Unavailable>;

    /// Puts these recovery codes in the place of the ones before. Answers
    /// whether the evidence was good for that; but for a password, it is good
    /// once.
    async fn replace_codes(
        &self,
        change: FactorChange,
        verified: VerifiedProof,
        codes: &[RecoveryHash],
    ) -> Result<bool, Unavailable>;

    /// Spends a code for something that another store does, and writes what
    /// goes with that. Answers whether it was good; of many who show it at
    /// once, one is informed.
    async fn spend(
        &self,
        session_ref: SessionRef,
        verified: VerifiedProof,
        at: Timestamp,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;

    /// Replaces a sealed secret by the same one sealed anew, if it is still
    /// `old`.
    async fn reseal(&self, user: UserId, old: &[u8], new: &[u8]) -> Result<(), Unavailable>;

    /// Forgets factors that were begun before `since` and never put on.
    /// Answers how many they were.
    async fn sweep(&self, since: Timestamp) -> Result<u64, Unavailable>;
}

/// A sign-in that waits for its second factor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewChallenge {
    /// Hash of its token.
    pub hash: TokenHash,
    /// Account whose password was proved.
    pub user: UserId,
    /// Version of the credentials that the change was decided on.
    pub epoch: CredentialsEpoch,
    /// Time at which it ends.
    pub expires_at: Timestamp,
}

/// Side effects of the answer to a challenge, given the number of recovery
/// codes left if one of them was the answer.
pub type RedeemEffects = fn(UserId, Timestamp, Option<u64>) -> SideEffects;

/// The answer to a challenge.
#[derive(Debug, Clone)]
pub struct Redemption {
    /// Hash of the challenge's token.
    pub hash: TokenHash,
    /// Account that is signing in.
    pub user: UserId,
    /// Verified proof.
    pub verified: VerifiedProof,
    /// Time at which they did.
    pub at: Timestamp,
    /// Side effects of the redemption.
    pub effects: RedeemEffects,
}

/// Outcome of answering a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redeemed {
    /// Challenge was completed and deleted.
    Done,
    /// The evidence is good no more; the challenge is still there.
    Stale,
    /// No such challenge any more.
    Gone,
}

/// Store of sign-ins that wait for their second factor.
///
/// A challenge is there until it ends, is answered, its account is deactivated,
/// its password replaced or its factor taken off.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait ChallengeStore: Send + Sync {
    /// Stores a challenge, unless its account is no more or deactivated, or its
    /// credentials are not those of the challenge's epoch.
    async fn open(&self, challenge: NewChallenge) -> Result<SessionStarted, Unavailable>;

    /// Returns the account of the challenge, if it exists and was tried fewer
    /// than `max` times.
    async fn owner(
        &self,
        hash: TokenHash,
        max: u32,
        now: Timestamp,
    ) -> Result<Option<UserId>, Unavailable>;

    /// Counts a try. Answers whether it may be made: of any number at once,
    /// no more than `max` may.
    async fn attempt(&self, hash: TokenHash, max: u32, now: Timestamp)
    -> Result<bool, Unavailable>;

    /// Spends a challenge and the evidence that answers it; or none of it. Of
    /// many at once, one is `Done`.
    async fn redeem(&self, redemption: Redemption) -> Result<Redeemed, Unavailable>;

    /// Forgets challenges that ended before `now`. Answers how many they were.
    async fn sweep(&self, now: Timestamp) -> Result<u64, Unavailable>;
}
