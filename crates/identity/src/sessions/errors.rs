//! Errors of the start, refresh and end of sessions.

use pia_kernel::Unavailable;

/// Errors that prevent a session from starting.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Account or app password is gone, the account is deactivated, or its credentials were changed
    /// since it was loaded.
    #[error("the proof is no longer valid")]
    Stale,
    /// A dependency is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Errors that prevent a session from being refreshed.
#[derive(Debug, thiserror::Error)]
pub enum RefreshError {
    /// Token is unknown or expired, or its session or account is gone.
    #[error("the refresh token is invalid")]
    Invalid,
    /// Token was used before, so someone else may hold it.
    #[error("the refresh token was reused; its session has ended")]
    Reused,
    /// The store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Errors that prevent a session from being revoked by its user.
#[derive(Debug, thiserror::Error)]
pub enum RevokeError {
    /// User has no such session.
    #[error("the user has no such session")]
    Unknown,
    /// Session that makes the request is over.
    #[error("the requesting session has ended")]
    Gone,
    /// The store is unavailable.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}
