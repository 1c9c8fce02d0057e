//! Storage use of a user.

/// Storage use of a user, and its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StorageUse {
    /// Bytes of everything stored, before sealing.
    pub current: u64,
    /// Maximum number of bytes.
    pub limit: u64,
}
