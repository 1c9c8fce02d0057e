//! Settings of this instance, as the policy domain changes them.

use std::sync::Arc;

use pia_policy::{RunningSetting, RunningSettings};
use pia_settings::{Config, LiveConfig, ReloadableSetting, Sources};

/// Settings of this instance. Checking and applying read the files again.
pub(crate) struct RunningConfig {
    pub(crate) live: Arc<LiveConfig>,
    pub(crate) sources: Sources,
}

impl RunningSettings for RunningConfig {
    fn all(&self) -> Vec<RunningSetting> {
        self.live.reloadable().into_iter().map(setting).collect()
    }

    fn check(&self, overrides: &[(String, String)]) -> Result<(), Vec<String>> {
        let checked: Result<Config, _> = self.sources.load_config_below(overrides);
        checked.map(drop).map_err(|faults| faults.iter().map(ToString::to_string).collect())
    }

    fn apply(&self, overrides: Vec<(String, String)>) {
        // What is wrong with them is logged there.
        drop(self.live.override_with(&self.sources, overrides));
    }
}

fn setting(setting: ReloadableSetting) -> RunningSetting {
    let ReloadableSetting { key, value, is_secret, origin } = setting;
    RunningSetting { key, value, is_secret, origin }
}
