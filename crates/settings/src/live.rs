//! Settings that change while the server runs.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pia_kernel::LiveSetting;

use super::Config;
use super::fault::Faults;
use super::notice::Notice;
use super::snapshot::{Effect, ReloadableSetting, Snapshot};
use super::sources::Sources;

type Follower = Box<dyn Fn(&Config) + Send>;

/// Hands settings that are read again to those that use them.
pub struct LiveConfig {
    /// Settings at the start, in force where a change needs a restart.
    started: Arc<Snapshot>,
    state: Mutex<State>,
    /// Held while sources are read, so that the last reading counts.
    reading: Mutex<()>,
}

struct State {
    latest: Arc<Config>,
    /// Settings above all sources.
    overrides: Vec<(String, String)>,
    followers: Vec<Follower>,
}

/// Differences since settings were last read; keys and no values.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SettingChanges {
    /// Changes that are in effect by now.
    pub reloaded: Vec<String>,
    /// Changes that wait for the next start.
    pub restart_only: Vec<String>,
    /// New notices.
    pub notices: Vec<Notice>,
}

impl LiveConfig {
    /// Starts with the settings that the server starts with.
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

    /// The settings as they were last read, those included that wait for a
    /// restart.
    pub fn latest(&self) -> Arc<Config> {
        Arc::clone(&self.lock().latest)
    }

    /// A handle on what `part` makes of the settings, now and at each change.
    ///
    /// Take only what may change: a value that needs a restart would show up
    /// in it too.
    pub fn follow<T: Send + Sync + 'static>(
        &self,
        part: impl Fn(&Config) -> T + Send + 'static,
    ) -> LiveSetting<T> {
        let mut state = self.lock();
        let live = LiveSetting::new(part(&state.latest));
        let handle = live.clone();
        state.followers.push(Box::new(move |config| handle.set(part(config))));
        live
    }

    /// Calls `format` with the settings whenever some have changed.
    pub fn on_change(&self, format: impl Fn(&Config) + Send + 'static) {
        self.lock().followers.push(Box::new(format));
    }

    /// Puts other settings in the place of those before.
    pub fn apply(&self, config: Config) -> SettingChanges {
        let mut state = self.lock();
        let changes = SettingChanges::between(&state.latest, &config, &self.started);
        if !changes.reloaded.is_empty() {
            for format in &state.followers {
                format(&config);
            }
        }
        state.latest = Arc::new(config);
        changes
    }

    /// Reads the sources again and applies what they say, with a line in the
    /// log for each change. With a fault in them everything stays as it was.
    pub fn reload(&self, sources: &Sources) -> Result<SettingChanges, Faults> {
        let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let overrides = self.lock().overrides.clone();
        let changes = match sources.load_config_below(&overrides) {
            Ok(config) => self.apply(config),
            Err(faults) => {
                for fault in faults.iter() {
                    tracing::error!(%fault, "settings unchanged: the new configuration is invalid");
                }
                return Err(faults);
            }
        };
        changes.log();
        Ok(changes)
    }

    /// Puts settings above all sources, in the place of any before, and reads
    /// the sources again as [`Self::reload`] does.
    pub fn override_with(
        &self,
        sources: &Sources,
        overrides: Vec<(String, String)>,
    ) -> Result<SettingChanges, Faults> {
        self.lock().overrides = overrides;
        self.reload(sources)
    }

    /// Returns the settings that take effect when they are reloaded, by key.
    pub fn reloadable(&self) -> Vec<ReloadableSetting> {
        self.latest().snapshot.reloadable().collect()
    }

    /// Half a change does no harm: each part is replaced as a whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SettingChanges {
    fn between(before: &Config, now: &Config, started: &Snapshot) -> Self {
        let mut changes = Self::default();
        let (old, new) = (&before.snapshot, &now.snapshot);
        // What only the old ones have belongs to an entry that is gone.
        let gone = old.keys().filter(|it| new.effect(it).is_none());
        for key in new.keys().chain(gone).filter(|it| !new.agrees(old, it)) {
            match new.effect(key).or_else(|| old.effect(key)) {
                Some(Effect::Reload) => changes.reloaded.push(key.to_owned()),
                // Back to what serves is no change that waits.
                Some(Effect::Restart) if new.agrees(started, key) => {}
                Some(Effect::Restart) => changes.restart_only.push(key.to_owned()),
                None => {}
            }
        }
        let reported = |it: &&Notice| !before.notices.contains(it);
        changes.notices = now.notices.iter().filter(reported).cloned().collect();
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
