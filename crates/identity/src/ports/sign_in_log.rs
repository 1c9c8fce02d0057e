//! Log of attempts to sign in.

use async_trait::async_trait;
use pia_kernel::{PageRequest, SessionId, SignInId, Timestamp, Unavailable, UserId};

use super::EndEffects;
use crate::sign_in::device::SignInDevice;

/// Method of signing in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInMethod {
    /// With an address and a password.
    Password,
    /// With these and a second factor.
    PasswordWithFactor,
    /// With an address and an app password.
    AppPassword,
    /// With a passkey, whose authenticator has made sure who uses it.
    Passkey,
    /// Sign-in with an identity provider.
    IdentityProvider,
}

impl SignInMethod {
    /// Name in the database and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::PasswordWithFactor => "password_with_factor",
            Self::AppPassword => "app_password",
            Self::Passkey => "passkey",
            Self::IdentityProvider => "identity_provider",
        }
    }
}

/// Outcome of a sign-in attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInOutcome {
    /// A session began.
    SignedIn,
    /// The password was wrong, or the account has none.
    WrongPassword,
    /// The password was right, and the second factor wrong.
    WrongFactor,
    /// A passkey's answer was not good for it.
    WrongPasskey,
}

impl SignInOutcome {
    /// Name in the database and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::SignedIn => "signed_in",
            Self::WrongPassword => "wrong_password",
            Self::WrongFactor => "wrong_factor",
            Self::WrongPasskey => "wrong_passkey",
        }
    }
}

/// An attempt that began no session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedSignIn {
    /// Account that was meant; nothing if there is none.
    pub user: Option<UserId>,
    /// Time of the attempt.
    pub at: Timestamp,
    /// Reason of the failure.
    pub outcome: SignInOutcome,
    /// Method of the attempt.
    pub method: SignInMethod,
    /// Device of the attempt.
    pub device: SignInDevice,
}

/// An attempt as its account is notified of it.
///
/// Method and outcome are texts here: what a newer version wrote is reported by
/// an older one too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInEntry {
    /// The attempt.
    pub id: SignInId,
    /// Time of the attempt.
    pub at: Timestamp,
    /// Outcome of the attempt: see [`SignInOutcome::name`].
    pub outcome: String,
    /// Method of the attempt: see [`SignInMethod::name`].
    pub method: String,
    /// Device of the attempt.
    pub device: SignInDevice,
    /// The session that began with it, which may be over.
    pub session: Option<SessionId>,
}

/// Log of attempts to sign in. Those that start a session are written with it,
/// by [`SessionStore::begin`](crate::SessionStore::begin).
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait SignInLog: Send + Sync {
    /// Remembers an attempt that failed, with its effects, atomically.
    ///
    /// Where there is no account the effects alone stay behind, on an id that
    /// is nobody's, but the same work is done, down to the disk: how long it
    /// takes must not tell which addresses have accounts.
    async fn failed(&self, attempt: FailedSignIn, effects: EndEffects) -> Result<(), Unavailable>;

    /// A part of a user's attempts, newest first.
    async fn page(&self, user: UserId, page: PageRequest) -> Result<Vec<SignInEntry>, Unavailable>;

    /// Forgets attempts made before `time`. Answers how many they were.
    async fn sweep(&self, time: Timestamp) -> Result<u64, Unavailable>;
}
