//! Ports of changing settings.

use async_trait::async_trait;
use pia_kernel::{SideEffects, Unavailable};

use super::{OverrideLayer, RunningSetting, SettingOverride};

/// Store of changed settings. However many write at once, of those that saw
/// the same version one succeeds.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
#[async_trait]
pub trait OverrideStore: Send + Sync {
    /// Loads all changed settings.
    async fn load(&self) -> Result<OverrideLayer, Unavailable>;

    /// Stores a changed setting. Returns false if another change came after
    /// the version that was `seen`.
    async fn set(
        &self,
        setting: SettingOverride,
        seen: i64,
        effects: SideEffects,
    ) -> Result<bool, Unavailable>;

    /// Deletes a changed setting. Returns false if another change came after
    /// the version that was `seen`.
    async fn remove(&self, key: &str, seen: i64, effects: SideEffects)
    -> Result<bool, Unavailable>;
}

/// Settings of this instance.
#[cfg_attr(any(test, feature = "mock"), mockall::automock)]
pub trait RunningSettings: Send + Sync {
    /// Returns the settings that take effect without a restart, by key.
    fn all(&self) -> Vec<RunningSetting>;

    /// Returns what would make the settings invalid with these values above
    /// all layers.
    fn check(&self, overrides: &[(String, String)]) -> Result<(), Vec<String>>;

    /// Puts these values above all layers, in the place of any before, unless
    /// those of this version or a later one are there already.
    fn apply(&self, version: i64, overrides: Vec<(String, String)>);
}
