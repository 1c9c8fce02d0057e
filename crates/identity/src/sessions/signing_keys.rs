//! The server's signing key, and the one before it while it is being changed.

use pia_kernel::Secret;

/// Keys that sign access tokens, and under which refresh tokens are hashed.
///
/// What was issued under a key that is neither of the two is good no more.
#[derive(Debug, Clone)]
pub struct SigningKeys {
    /// Key of everything that is issued now.
    pub current: Secret<String>,
    /// Previous key; what was issued under it is still accepted.
    pub previous: Option<Secret<String>>,
}

impl SigningKeys {
    /// The current key first, since most of what is shown is of that one.
    pub(crate) fn each(&self) -> impl Iterator<Item = &Secret<String>> {
        std::iter::once(&self.current).chain(&self.previous)
    }
}
