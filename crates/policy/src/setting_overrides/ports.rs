//! Ports of changing settings: the store, implemented in `storage-policy`, and the
//! settings in force, implemented in `server/src/bridges/running_config.rs`.

use async_trait::async_trait;
use pia_kernel::{SideEffects, Unavailable};

use super::{OverrideChange, OverrideLayer, RunningSetting};

/// Store of changed settings. Of concurrent writes that are based on the same
/// version, one succeeds.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait OverrideStore: Send + Sync {
    /// Loads all changed settings.
    async fn load(&self) -> Result<OverrideLayer, Unavailable>;

    /// Stores changed settings, all or none. Returns false if another change was
    /// stored after `base_version`.
    async fn set(
        &self,
        changes: Vec<OverrideChange>,
        base_version: i64,
    ) -> Result<bool, Unavailable>;

    /// Deletes a changed setting. Returns false if another change was stored
    /// after `base_version`.
    async fn remove(
        &self,
        key: &str,
        base_version: i64,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;
}

/// Settings of this instance.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
pub trait RunningSettings: Send + Sync {
    /// Returns the settings in force, by key.
    fn all(&self) -> Vec<RunningSetting>;

    /// Checks the settings with these values above all other layers, and
    /// returns the violations.
    fn check(&self, overrides: &[(String, String)]) -> Result<(), Vec<String>>;

    /// Replaces the values above all other layers, unless values of this
    /// version or a later one are already applied.
    fn apply(&self, version: i64, overrides: Vec<(String, String)>);
}
