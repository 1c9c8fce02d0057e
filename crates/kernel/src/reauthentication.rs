//! Confidence of the server that a caller is the account's owner.

/// Outcome of checking that the account is the caller's: by a password or a
/// second factor with this request, or by a sign-in a few minutes ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reauthentication {
    /// They have.
    Fresh,
    /// They signed in longer ago, and showed nothing since.
    Stale,
    /// They signed in with a password for a program, which shows nothing.
    Delegated,
}
