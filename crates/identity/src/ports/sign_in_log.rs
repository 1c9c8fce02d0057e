//! Port of the history of sign-ins; implemented in `storage-identity`.

use async_trait::async_trait;
use pia_kernel::{PageRequest, SessionId, SignInId, Timestamp, Unavailable, UserId};

use super::EndEffects;
use crate::sign_in::device::SignInDevice;

/// Log of attempts to sign in. Those that start a session are written with it, by
/// [`SessionStore::begin`](crate::SessionStore::begin).
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait SignInLog: Send + Sync {
    /// Records a failed attempt with its effects, atomically.
    ///
    /// Without an account only the effects are written, under a random id, but the same work is
    /// done, down to the disk: the duration must not reveal which addresses have accounts.
    async fn record_failure(
        &self,
        attempt: FailedSignIn,
        effects: EndEffects,
    ) -> Result<(), Unavailable>;

    /// Returns a page of a user's attempts, the newest first.
    async fn page(&self, user: UserId, page: PageRequest) -> Result<Vec<SignInEntry>, Unavailable>;

    /// Deletes attempts made before `time`. Returns their number.
    async fn sweep(&self, time: Timestamp) -> Result<u64, Unavailable>;
}

/// Method of signing in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInMethod {
    /// Email address and password, without a second factor.
    Password,
    /// Email address, password and second factor.
    PasswordWithFactor,
    /// Email address and app password.
    AppPassword,
    /// Passkey, whose authenticator has verified the user.
    Passkey,
    /// Sign-in with an identity provider.
    IdentityProvider,
}

impl SignInMethod {
    /// Returns the name in the database and on the wire.
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
    /// Session was started; such attempts are logged with it.
    SignedIn,
    /// Password was wrong, or the account has none.
    WrongPassword,
    /// Password was right, and the second factor wrong.
    WrongFactor,
    /// Response of a known passkey was refused.
    WrongPasskey,
}

impl SignInOutcome {
    /// Returns the name in the database and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::SignedIn => "signed_in",
            Self::WrongPassword => "wrong_password",
            Self::WrongFactor => "wrong_factor",
            Self::WrongPasskey => "wrong_passkey",
        }
    }
}

/// An attempt that started no session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedSignIn {
    /// Account of the attempt; `None` if there is none.
    pub user: Option<UserId>,
    /// Time of the failure.
    pub at: Timestamp,
    /// Reason of the failure; never `SignedIn`.
    pub outcome: SignInOutcome,
    /// Method of the attempt.
    pub method: SignInMethod,
    /// Device of the attempt.
    pub device: SignInDevice,
}

/// An attempt in the account's list.
///
/// Method and outcome are strings, so that an older version can return those of a newer one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInEntry {
    /// Id of the attempt; cursors of the list contain it.
    pub id: SignInId,
    /// Time of the attempt.
    pub at: Timestamp,
    /// Outcome of the attempt: see [`SignInOutcome::name`].
    pub outcome: String,
    /// Method of the attempt: see [`SignInMethod::name`].
    pub method: String,
    /// Device of the attempt.
    pub device: SignInDevice,
    /// Session that it started, which may be over.
    pub session: Option<SessionId>,
}
