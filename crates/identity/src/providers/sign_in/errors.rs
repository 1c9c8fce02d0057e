//! Errors of sign-in with a provider; `web` maps them to HTTP responses.

use pia_kernel::Unavailable;

use crate::ports::ProviderError;
use crate::providers::redirect_target::{DestinationError, ReturnState};
use crate::sessions::StartError;

/// Causes of a failed sign-in with a provider.
#[derive(Debug, thiserror::Error)]
pub enum ProviderSignInError {
    /// User starts again: the cookie and the `state` fit no pending sign-in, it has expired, or
    /// the account was deleted or its credentials changed since.
    #[error("the browser has no such sign-in in progress")]
    InvalidState,
    /// Name in the request belongs to no provider that this server supports.
    #[error("there is no such provider")]
    UnknownProvider,
    /// Operator sets the provider up; its settings may have been removed during the sign-in.
    #[error("the provider isn't configured")]
    NotConfigured,
    /// User cancelled, or the provider refused them: its error is `access_denied`.
    #[error("the sign-in was denied at the provider")]
    AccessDenied,
    /// User tries again later; maps to 502.
    #[error("the provider doesn't respond")]
    ProviderUnreachable,
    /// Provider responded with an error, or with something that cannot be trusted; maps to 502.
    #[error("the provider's response is invalid")]
    ProviderFailed,
    /// User shares an address with this server at the provider, or gets one there.
    #[error("the provider reports no email address")]
    EmailMissing,
    /// User verifies the address at the provider; until then, it proves no ownership.
    #[error("the provider hasn't verified the email address")]
    EmailNotVerified,
    /// User signs in the way they did before: an account is never linked by its address alone.
    #[error("another account has this email address")]
    EmailExists,
    /// Operator's rules do not let this person register.
    #[error("registration is closed")]
    RegistrationClosed,
    /// Operator has suspended registration for everyone.
    #[error("no accounts can be created at the moment")]
    Suspended,
    /// Operator needs a licence with more seats.
    #[error("all {limit} licensed accounts are in use")]
    SeatsTaken {
        /// Licensed number of active accounts.
        limit: u32,
    },
    /// Operator renews the licence; until then, only existing accounts sign in.
    #[error("the licence has ended")]
    LicenceEnded,
    /// Administrator reactivates the account.
    #[error("the account is deactivated")]
    Deactivated,
    /// A dependency of this server is unavailable, not the provider.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

impl From<StartError> for ProviderSignInError {
    fn from(err: StartError) -> Self {
        match err {
            // The account changed between the provider's answer and the start of the session.
            // Its user starts again, as with a sign-in that has expired.
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

/// A sign-in that failed before or after the redirect to the provider, and the program to which
/// the failure is reported.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct FailedProviderSignIn {
    /// Program that waits for the outcome; `None` reports it in the browser.
    pub return_state: Option<ReturnState>,
    /// Cause of the failure.
    #[source]
    pub reason: ProviderSignInError,
}

/// Errors of the request that starts a sign-in with a provider.
#[derive(Debug, thiserror::Error)]
pub enum StartProviderSignInError {
    /// Redirect target must not be used, so the failure is reported in the browser.
    #[error(transparent)]
    Destination(#[from] DestinationError),
    /// Client's `state` is longer than can be stored.
    #[error("the state is too long")]
    StateTooLong {
        /// Maximum length in UTF-16 code units.
        limit: usize,
    },
    /// Sign-in failed before the browser was redirected.
    #[error(transparent)]
    Failed(#[from] FailedProviderSignIn),
}
