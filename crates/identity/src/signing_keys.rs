//! The server's signing key, and the one before it while it is being changed.

use pia_kernel::Secret;

/// What access tokens are signed with and refresh tokens are kept under.
///
/// What was issued under a key that is neither of the two is good no more.
#[derive(Debug, Clone)]
pub struct SigningKeys {
    /// What is issued now is issued under this one.
    pub current: Secret<String>,
    /// What was issued under this one is still taken.
    pub previous: Option<Secret<String>>,
}

impl SigningKeys {
    /// The current key first, since most of what is shown is of that one.
    pub(crate) fn each(&self) -> impl Iterator<Item = &Secret<String>> {
        std::iter::once(&self.current).chain(&self.previous)
    }
}
