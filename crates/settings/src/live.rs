//! Settings that change while the server runs.
//!
//! Composition calls `follow` for each reloadable value and passes the
//! `LiveSetting` to a domain. `reload` is called when a settings file has changed
//! (`watch.rs`), `override_with` when an administrator changed a setting in the
//! console. Either reads and checks everything first: with one error, no setting
//! changes.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pia_kernel::LiveSetting;
use pia_policy::RunningSetting;

use super::Config;
use super::error::SettingErrors;
use super::notice::Notice;
use super::snapshot::{Effect, Snapshot};
use super::sources::Sources;

type Follower = Box<dyn Fn(&Config) + Send>;

/// Current settings, which notifies its followers of changes.
pub struct LiveConfig {
    /// Settings at the start; they stay in force where a change needs a
    /// restart.
    started: Arc<Snapshot>,
    state: Mutex<State>,
    /// Held while sources are read, so that the last read wins.
    reading: Mutex<()>,
}

struct State {
    latest: Arc<Config>,
    /// Settings that override all sources.
    overrides: Vec<(String, String)>,
    followers: Vec<Follower>,
}

/// Differences since the settings were last read: keys without values.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SettingChanges {
    /// Changes that are in effect.
    pub reloaded: Vec<String>,
    /// Changes that take effect at the next start.
    pub restart_only: Vec<String>,
    /// Notices that the previous settings did not have.
    pub notices: Vec<Notice>,
}

impl LiveConfig {
    /// Creates a handle on the settings of the start.
    pub fn new(config: Config) -> Self {
        let started = Arc::clone(&config.snapshot);
        Self {
            started,
            state: Mutex::new(State {
                latest: Arc::new(config),
                overrides: Vec::new(),
                followers: Vec::new(),
            }),
            reading: Mutex::new(()),
        }
    }

    /// Returns the settings as last read, including changes that need a
    /// restart.
    pub fn latest(&self) -> Arc<Config> {
        Arc::clone(&self.lock().latest)
    }

    /// Returns a handle on the result of `select`, now and after each change.
    ///
    /// Use it for reloadable settings only: a value that needs a restart would
    /// change in it too.
    pub fn follow<T: Send + Sync + 'static>(
        &self,
        select: impl Fn(&Config) -> T + Send + 'static,
    ) -> LiveSetting<T> {
        let mut state = self.lock();
        let live = LiveSetting::new(select(&state.latest));
        let handle = live.clone();
        state.followers.push(Box::new(move |config| handle.set(select(config))));
        live
    }

    /// Calls `callback` with the settings whenever some have changed.
    pub fn on_change(&self, callback: impl Fn(&Config) + Send + 'static) {
        self.lock().followers.push(Box::new(callback));
    }

    /// Replaces the settings.
    pub fn apply(&self, config: Config) -> SettingChanges {
        let mut state = self.lock();
        let changes = SettingChanges::between(&state.latest, &config, &self.started);
        if !changes.reloaded.is_empty() {
            for follower in &state.followers {
                follower(&config);
            }
        }
        state.latest = Arc::new(config);
        changes
    }

    /// Reads the sources again and applies them, and logs each change. If they
    /// contain an error, nothing changes.
    pub fn reload(&self, sources: &Sources) -> Result<SettingChanges, SettingErrors> {
        let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let overrides = self.lock().overrides.clone();
        let changes = match sources.load_config_below(&overrides) {
            Ok(config) => self.apply(config),
            Err(errors) => {
                for err in errors.iter() {
                    tracing::error!(
                        fault = %err,
                        "settings unchanged: the new configuration is invalid"
                    );
                }
                return Err(errors);
            }
        };
        changes.log();

        Ok(changes)
    }

    /// Replaces the settings above all sources, and reads the sources again
    /// like [`Self::reload`].
    pub fn override_with(
        &self,
        sources: &Sources,
        overrides: Vec<(String, String)>,
    ) -> Result<SettingChanges, SettingErrors> {
        self.lock().overrides = overrides;
        self.reload(sources)
    }

    /// Returns the settings in force, by key: of those that need a restart the
    /// values of the start.
    pub fn effective(&self) -> Vec<RunningSetting> {
        let latest = self.latest();
        let reloaded = latest.snapshot.of_effect(Effect::Reload);
        let mut settings: Vec<_> =
            reloaded.chain(self.started.of_effect(Effect::Restart)).collect();
        settings.sort_by(|a, b| a.key.cmp(&b.key));
        settings
    }

    /// Locks the state. A poisoned state is consistent: each part is replaced
    /// in one step.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SettingChanges {
    fn between(before: &Config, now: &Config, started: &Snapshot) -> Self {
        let mut changes = Self::default();
        let old = &before.snapshot;
        let new = &now.snapshot;
        // A key that only the old settings have belongs to an entry that was
        // removed.
        let removed_keys = old.keys().filter(|it| new.effect(it).is_none());
        for key in new.keys().chain(removed_keys).filter(|it| !new.agrees(old, it)) {
            match new.effect(key).or_else(|| old.effect(key)) {
                Some(Effect::Reload) => changes.reloaded.push(key.to_owned()),
                // A return to the value in force is not a pending change.
                Some(Effect::Restart) if new.agrees(started, key) => {}
                Some(Effect::Restart) => changes.restart_only.push(key.to_owned()),
                None => {}
            }
        }

        let is_new = |it: &&Notice| !before.notices.contains(it);
        changes.notices = now.notices.iter().filter(is_new).cloned().collect();

        changes
    }

    fn log(&self) {
        for key in &self.reloaded {
            tracing::info!(setting.key = key, "setting changed");
        }
        for key in &self.restart_only {
            tracing::warn!(setting.key = key, "setting changed; restart to apply it");
        }
        for notice in &self.notices {
            tracing::warn!("{notice}");
        }
    }
}

impl fmt::Debug for LiveConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveConfig").finish_non_exhaustive()
    }
}
