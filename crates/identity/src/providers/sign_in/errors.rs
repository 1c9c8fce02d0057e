//! Errors of sign-in with a provider.

use pia_kernel::Unavailable;

use crate::ports::ProviderError;
use crate::providers::redirect_target::{DestinationError, ReturnState};
use crate::sessions::StartError;

/// Errors of starting a sign-in with a provider.
#[derive(Debug, thiserror::Error)]
pub enum StartSessionError {
    /// Redirect target is not allowed.
    #[error(transparent)]
    Destination(#[from] DestinationError),
    /// State is longer than can be stored.
    #[error("the state is too long")]
    StateTooLong {
        /// Maximum number of characters.
        limit: usize,
    },
    /// Sign-in failed before the browser was redirected.
    #[error(transparent)]
    Failed(#[from] CallbackError),
}

/// A failed sign-in with a provider.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct CallbackError {
    /// Program that waits for the outcome, if any.
    pub return_state: Option<ReturnState>,
    /// Cause of the failure.
    #[source]
    pub reason: ProviderSignInError,
}

/// Causes of a failed sign-in with a provider.
#[derive(Debug, thiserror::Error)]
pub enum ProviderSignInError {
    /// Browser has no such sign-in in progress, or its account was deleted or its credentials
    /// changed meanwhile.
    #[error("the browser has no such sign-in in progress")]
    InvalidState,
    /// Provider does not exist.
    #[error("there is no such provider")]
    UnknownProvider,
    /// Provider is not configured, or no longer.
    #[error("the provider isn't configured")]
    NotConfigured,
    /// User cancelled, or the provider refused them.
    #[error("the sign-in was denied at the provider")]
    AccessDenied,
    /// Provider does not respond.
    #[error("the provider doesn't respond")]
    ProviderUnreachable,
    /// Provider responded with an error, or with something that cannot be trusted.
    #[error("the provider's response is invalid")]
    ProviderFailed,
    /// Provider returns no address.
    #[error("the provider reports no email address")]
    EmailMissing,
    /// Provider does not report the address as verified.
    #[error("the provider hasn't verified the email address")]
    EmailNotVerified,
    /// Address has an account with another identity.
    #[error("another account has this email address")]
    EmailExists,
    /// Rules do not allow the registration.
    #[error("registration is closed")]
    RegistrationClosed,
    /// Registration is suspended.
    #[error("no accounts can be created at the moment")]
    Suspended,
    /// Licence has no seat left.
    #[error("all {limit} licensed accounts are in use")]
    SeatsTaken {
        /// Licensed number of accounts.
        limit: u32,
    },
    /// Licence has ended, so no accounts are created.
    #[error("the licence has ended")]
    LicenceEnded,
    /// Account is deactivated.
    #[error("the account is deactivated")]
    Deactivated,
    /// A dependency is unavailable.
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
