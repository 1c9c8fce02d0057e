//! How sure the server is that a caller is the account's owner.

/// Whether a caller has shown lately that the account is theirs: by a password
/// or a second factor with this request, or by a sign-in a few minutes ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reauthentication {
    /// They have.
    Fresh,
    /// They signed in longer ago, and showed nothing since.
    Stale,
    /// They signed in with a password for a program, which shows nothing.
    Delegated,
}
