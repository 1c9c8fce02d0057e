//! Errors of sign-in at a provider.

use pia_kernel::Unavailable;

use crate::ports::ProviderError;
use crate::providers::redirect_target::{DestinationError, ReturnState};
use crate::sessions::StartError;

/// Errors that prevent a sign-in at a provider from starting.
#[derive(Debug, thiserror::Error)]
pub enum StartSessionError {
    /// Redirect target is not allowed.
    #[error(transparent)]
    Destination(#[from] DestinationError),
    /// The state is longer than can be stored.
    #[error("the state is too long")]
    StateTooLong {
        /// Maximum number of characters.
        limit: usize,
    },
    /// Sign-in failed before the browser was redirected.
    #[error(transparent)]
    Failed(#[from] CallbackError),
}

/// A sign-in at a provider that came to nothing.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct CallbackError {
    /// Program that waits for the outcome.
    pub back: Option<ReturnState>,
    /// Reason of the failure.
    #[source]
    pub why: ProviderSignInError,
}

/// Errors that prevent a user from being signed in by a provider.
#[derive(Debug, thiserror::Error)]
pub enum ProviderSignInError {
    /// This browser has no such sign-in under way, or its account went away or
    /// was secured anew meanwhile.
    #[error("the browser began no such sign-in")]
    InvalidState,
    /// No such provider.
    #[error("there is no such provider")]
    UnknownProvider,
    /// Provider is not configured, or no longer.
    #[error("the provider is not set up")]
    NotConfigured,
    /// User cancelled, or their provider refused them.
    #[error("the sign-in was denied at the provider")]
    AccessDenied,
    /// The provider does not answer.
    #[error("the provider does not answer")]
    ProviderUnreachable,
    /// The provider responded with an error, or with something that cannot be
    /// trusted.
    #[error("the provider's answer is not good")]
    ProviderFailed,
    /// The provider reports no address.
    #[error("the provider tells no address")]
    EmailMissing,
    /// The provider does not say that the address is theirs.
    #[error("the provider does not vouch for the address")]
    EmailNotVerified,
    /// The address has an account that somebody else vouches for.
    #[error("the address has another account")]
    EmailExists,
    /// The operator does not let them make an account.
    #[error("registration is closed")]
    RegistrationClosed,
    /// Registration is suspended.
    #[error("no accounts are made for now")]
    Suspended,
    /// Licence has no seat left.
    #[error("all {limit} accounts of the licence are taken")]
    SeatsTaken {
        /// Licensed number of accounts.
        limit: u32,
    },
    /// The licence has ended, and with it that accounts are made.
    #[error("the licence has ended")]
    LicenceEnded,
    /// Their account is deactivated.
    #[error("the account is deactivated")]
    Deactivated,
    /// Something that is needed did not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

impl From<StartError> for ProviderSignInError {
    fn from(err: StartError) -> Self {
        match err {
            StartError::Stale => Self::InvalidState,
            StartError::Unavailable(err) => Self::Unavailable(err),
        }
    }
}

impl From<ProviderError> for ProviderSignInError {
    fn from(err: ProviderError) -> Self {
        match err {
            ProviderError::Unreachable => Self::ProviderUnreachable,
            ProviderError::NotConfigured => Self::NotConfigured,
            ProviderError::Refused(_) | ProviderError::BadToken => Self::ProviderFailed,
        }
    }
}
