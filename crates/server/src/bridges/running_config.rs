//! Settings of this instance, as the policy domain changes them.

use std::sync::{Arc, Mutex, PoisonError};

use pia_policy::{RunningSetting, RunningSettings};
use pia_settings::{Config, LiveConfig, Sources};

/// Settings of this instance. Checking and applying read the files again.
pub(crate) struct RunningConfig {
    live: Arc<LiveConfig>,
    sources: Sources,
    /// Version of the changes in force; 0 if there are none.
    version: Mutex<i64>,
}

impl RunningConfig {
    pub(crate) fn new(live: Arc<LiveConfig>, sources: Sources) -> Self {
        Self { live, sources, version: Mutex::new(0) }
    }
}

impl RunningSettings for RunningConfig {
    fn all(&self) -> Vec<RunningSetting> {
        self.live.effective()
    }

    fn check(&self, overrides: &[(String, String)]) -> Result<(), Vec<String>> {
        let config: Result<Config, _> = self.sources.load_config_below(overrides);
        config.map(drop).map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    fn apply(&self, version: i64, overrides: Vec<(String, String)>) {
        // Locked until they are in force, so that an earlier version never replaces a later one.
        let mut applied_version = self.version.lock().unwrap_or_else(PoisonError::into_inner);
        if version <= *applied_version {
            return;
        }

        *applied_version = version;
        // Errors are logged by `override_with`.
        drop(self.live.override_with(&self.sources, overrides));
    }
}
