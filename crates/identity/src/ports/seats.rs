//! Seats that the licence allows.

/// Number of accounts there may be.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
pub trait Seats: Send + Sync {
    /// The most accounts that may be active; nothing if there is no limit.
    fn limit(&self) -> Option<u32>;

    /// The most of them that may be administrators; nothing if there is no
    /// limit.
    fn admins(&self) -> Option<u32>;
}
