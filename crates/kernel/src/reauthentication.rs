//! Confidence that a caller is the account's owner.

/// Outcome of checking that the account is the caller's: by a password or a
/// second factor with this request, or by a sign-in a few minutes ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReauthenticationOutcome {
    /// Caller proved themselves recently.
    Fresh,
    /// Caller's last proof is too old.
    Stale,
    /// Caller signed in with an app password, which proves nothing.
    Delegated,
}
