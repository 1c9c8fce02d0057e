//! Storage use of a user.

/// Bytes that a user has stored, and the maximum of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StorageUse {
    /// Bytes of everything stored, before sealing.
    pub current: u64,
    /// Maximum number of bytes.
    pub limit: u64,
}
