//! Port of the seats that the licence allows; implemented in `server`.

/// Numbers of accounts that the licence allows.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
pub trait Seats: Send + Sync {
    /// Returns the maximum number of active accounts; `None` if there is no limit.
    fn limit(&self) -> Option<u32>;

    /// Returns the maximum number of active administrators; `None` if there is no limit.
    fn admins(&self) -> Option<u32>;
}
