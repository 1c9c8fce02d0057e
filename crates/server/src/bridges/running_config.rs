//! Settings of this instance, as the policy domain changes them.

use std::sync::{Arc, Mutex, PoisonError};

use pia_policy::{RunningSetting, RunningSettings};
use pia_settings::{Config, LiveConfig, ReloadableSetting, Sources};

/// Settings of this instance. Checking and applying read the files again.
pub(crate) struct RunningConfig {
    live: Arc<LiveConfig>,
    sources: Sources,
    /// Version of the changes in force; 0 if there were never any.
    version: Mutex<i64>,
}

impl RunningConfig {
    pub(crate) fn new(live: Arc<LiveConfig>, sources: Sources) -> Self {
        Self { live, sources, version: Mutex::new(0) }
    }
}

impl RunningSettings for RunningConfig {
    fn all(&self) -> Vec<RunningSetting> {
        self.live.reloadable().into_iter().map(setting).collect()
    }

    fn check(&self, overrides: &[(String, String)]) -> Result<(), Vec<String>> {
        let checked: Result<Config, _> = self.sources.load_config_below(overrides);
        checked.map(drop).map_err(|faults| faults.iter().map(ToString::to_string).collect())
    }

    fn apply(&self, version: i64, overrides: Vec<(String, String)>) {
        // Held until they are in force: of two at once the later one counts.
        let mut in_force = self.version.lock().unwrap_or_else(PoisonError::into_inner);
        if version <= *in_force {
            return;
        }
        *in_force = version;
        // What is wrong with them is logged there.
        drop(self.live.override_with(&self.sources, overrides));
    }
}

fn setting(setting: ReloadableSetting) -> RunningSetting {
    let ReloadableSetting { key, value, is_secret, origin } = setting;
    RunningSetting { key, value, is_secret, origin }
}
