//! The server's signing key, and the previous one during a change.

use pia_kernel::Secret;

/// Keys that sign access tokens, and under which refresh tokens are hashed.
///
/// Tokens of any other key are invalid.
#[derive(Debug, Clone)]
pub struct SigningKeys {
    /// Key of all new tokens.
    pub current: Secret<String>,
    /// Previous key; tokens issued under it are still accepted.
    pub previous: Option<Secret<String>>,
}

impl SigningKeys {
    /// Returns the keys, the current one first, since most tokens are issued under it.
    pub(crate) fn each(&self) -> impl Iterator<Item = &Secret<String>> {
        std::iter::once(&self.current).chain(&self.previous)
    }
}
