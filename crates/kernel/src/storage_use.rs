//! The bytes that a person stores.

/// The bytes that a person stores, and may store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StorageUse {
    /// The bytes of everything stored, before it is sealed.
    pub current: u64,
    /// The bytes that may be stored.
    pub limit: u64,
}
