//! Errors of sign-in with a password; `web` maps them to HTTP responses.

use std::time::Duration;

use pia_kernel::{Secret, Unavailable};

use crate::factors::challenges::ChallengeError;
use crate::passwords::throttle::GuessError;
use crate::people::verification::OutstandingRequirement;
use crate::sessions::StartError;

/// Errors of a sign-in.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// Password is wrong, or there is no such account.
    #[error("the email address or password is wrong")]
    WrongCredentials,
    /// Too many wrong passwords for this address.
    #[error("too many wrong passwords for this address")]
    TooMany {
        /// Time until the next attempt is allowed.
        wait: Duration,
    },
    /// Password is correct, and the address is not verified.
    #[error("the email address isn't verified")]
    NotVerified,
    /// Password is correct, and the account has a second factor.
    #[error("a second factor is required")]
    FactorNeeded {
        /// Token that [`SignIn::with_factor`](super::SignIn::with_factor) expects with the code.
        challenge: Secret<String>,
    },
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Errors that prevent a sign-in with a second factor.
#[derive(Debug, thiserror::Error)]
pub enum FactorSignInError {
    /// Sign-in is unknown, over, or was tried too often: it must start again with the password.
    #[error("the sign-in has expired")]
    Over,
    /// Code is wrong, or was used before.
    #[error("the code is wrong")]
    WrongCode,
    /// Too many wrong codes for this account.
    #[error("too many wrong codes for this account")]
    TooMany {
        /// Time until the next attempt is allowed.
        wait: Duration,
    },
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

impl From<StartError> for SignInError {
    fn from(err: StartError) -> Self {
        match err {
            StartError::Stale => Self::WrongCredentials,
            StartError::Unavailable(err) => Self::Unavailable(err),
        }
    }
}

impl From<StartError> for FactorSignInError {
    fn from(err: StartError) -> Self {
        match err {
            StartError::Stale => Self::Over,
            StartError::Unavailable(err) => Self::Unavailable(err),
        }
    }
}

impl From<GuessError> for SignInError {
    fn from(err: GuessError) -> Self {
        match err {
            GuessError::Wait(wait) => Self::TooMany { wait },
            GuessError::Unavailable(err) => Self::Unavailable(err),
        }
    }
}

impl From<OutstandingRequirement> for SignInError {
    fn from(err: OutstandingRequirement) -> Self {
        match err {
            OutstandingRequirement::Verification => Self::NotVerified,
            OutstandingRequirement::Unavailable(err) => Self::Unavailable(err),
        }
    }
}

impl From<ChallengeError> for FactorSignInError {
    fn from(err: ChallengeError) -> Self {
        match err {
            ChallengeError::Gone => Self::Over,
            ChallengeError::Wrong { .. } => Self::WrongCode,
            ChallengeError::TooMany { wait } => Self::TooMany { wait },
            ChallengeError::Unavailable(err) => Self::Unavailable(err),
        }
    }
}
