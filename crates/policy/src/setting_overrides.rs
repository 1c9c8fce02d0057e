//! Settings that administrators change while the server runs: a layer in the
//! database above all others.
//!
//! `set` and `reset` load the layer, validate the result with this instance's settings
//! and store it if the version is unchanged, or else start over. Other instances take
//! it over with `refresh`. A section with a secret that cannot be decrypted is left out
//! as a unit.

mod ports;

use std::sync::Arc;

use pia_kernel::{Clock, Secret, SideEffects, Timestamp, Unavailable, UserId};

#[cfg(any(test, feature = "mock"))]
pub use ports::{MockOverrideStore, MockRunningSettings};
pub use ports::{OverrideStore, RunningSettings};

/// Maximum number of attempts of a write under concurrent writes.
const MAX_TRIES: usize = 10;

/// Value of a changed setting, as a text.
#[derive(Debug, Clone)]
pub enum OverrideValue {
    /// Value that administrators may read.
    Plain(String),
    /// Value that is stored encrypted and never returned.
    Secret(Secret<String>),
    /// Secret that was encrypted under a master key that this server does not
    /// have.
    Unreadable,
}

/// Setting as an administrator changed it.
#[derive(Debug, Clone)]
pub struct SettingOverride {
    /// Key: `Section:Key`.
    pub key: String,
    /// Value, as a text of the configuration.
    pub value: OverrideValue,
    /// Time of the change.
    pub updated_at: Timestamp,
    /// Administrator who made the change; `None` if their account was deleted.
    pub updated_by: Option<UserId>,
}

/// All changed settings.
#[derive(Debug, Clone, Default)]
pub struct OverrideLayer {
    /// Version, which grows with each change.
    pub version: i64,
    /// Changed settings by key.
    pub settings: Vec<SettingOverride>,
}

/// Setting to store, with the audit entry of its change.
#[derive(Debug, Clone)]
pub struct OverrideChange {
    /// Setting as it is to be stored.
    pub setting: SettingOverride,
    /// Audit entry, to which the store adds the values, except for secrets.
    pub effects: SideEffects,
}

/// Setting in force, as administrators see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningSetting {
    /// Key: `Section:Key`.
    pub key: String,
    /// Value, or its default; `None` if there is neither, and for secrets.
    pub value: Option<String>,
    /// True if its value must never be displayed.
    pub is_secret: bool,
    /// True if it has a value or a default that is not blank.
    pub is_set: bool,
    /// Layer that sets it: `appsettings.json`; `None` if the default is in force.
    pub origin: Option<String>,
    /// True if a change takes effect with a restart only.
    pub needs_restart: bool,
    /// Meaning of a blank text as its value, also for a secret.
    pub blank: BlankMeaning,
    /// Names of the possible values if they are few: `true` and `false`; empty otherwise.
    pub choices: Vec<&'static str>,
}

/// Meaning of a blank text as the value of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BlankMeaning {
    /// Text is refused, or the default is in force.
    #[default]
    Invalid,
    /// Setting has no value, as if it was absent.
    Unset,
    /// Value of its own, which hides a default.
    Value,
}

/// Setting in force, with the change of an administrator.
#[derive(Debug, Clone)]
pub struct ListedSetting {
    /// Setting in force.
    pub setting: RunningSetting,
    /// Change of an administrator; `None` if another layer sets the value.
    pub change: Option<SettingOverride>,
}

/// Errors that prevent a setting from being changed.
#[derive(Debug, thiserror::Error)]
pub enum SettingOverrideError {
    /// No such setting, or one that needs a restart.
    #[error("There is no such setting that takes effect without a restart.")]
    Unknown,
    /// Value is invalid, alone or together with others.
    #[error("{}", .0.join(" "))]
    Invalid(Vec<String>),
    /// Secret would be empty, which has no meaning.
    #[error("A secret cannot be empty. To remove the stored value, reset the setting.")]
    EmptySecret,
    /// Store is unavailable, or there are too many concurrent writes.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Lists and changes the settings of all running instances.
#[derive(Clone)]
pub struct SettingOverrides {
    store: Arc<dyn OverrideStore>,
    running: Arc<dyn RunningSettings>,
    clock: Arc<dyn Clock>,
}

impl SettingOverride {
    /// Returns the key without its last part.
    fn section(&self) -> &str {
        self.key.rsplit_once(':').map_or("", |it| it.0)
    }
}

impl ListedSetting {
    /// Returns whether the change is a secret that this server cannot decrypt.
    pub fn is_unreadable(&self) -> bool {
        self.change.as_ref().is_some_and(|it| it.value.is_unreadable())
    }
}

impl OverrideValue {
    fn is_unreadable(&self) -> bool {
        matches!(self, Self::Unreadable)
    }

    /// Returns the text; `None` if it is unreadable.
    fn text(&self) -> Option<&str> {
        match self {
            Self::Plain(text) => Some(text),
            Self::Secret(text) => Some(text.expose()),
            Self::Unreadable => None,
        }
    }
}

impl OverrideLayer {
    /// Returns keys and values. Those of a section with an unreadable secret that is `running` are
    /// left out, since they may be invalid without it.
    fn values(&self, running: &[RunningSetting]) -> Vec<(String, String)> {
        let unreadable_sections: Vec<&str> = self
            .settings
            .iter()
            .filter(|it| it.value.is_unreadable())
            .filter(|change| running.iter().any(|it| it.key == change.key))
            .map(SettingOverride::section)
            .collect();
        let value = |it: &SettingOverride| Some((it.key.clone(), it.value.text()?.to_owned()));

        self.settings
            .iter()
            .filter(|it| !unreadable_sections.contains(&it.section()))
            .filter_map(value)
            .collect()
    }
}

impl SettingOverrides {
    /// Creates the use case over a store and this instance's settings.
    pub fn new(
        store: Arc<dyn OverrideStore>,
        running: Arc<dyn RunningSettings>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { store, running, clock }
    }

    /// Returns all settings in force, each with its change if there is one.
    pub async fn list(&self) -> Result<Vec<ListedSetting>, SettingOverrideError> {
        let OverrideLayer { settings: mut changes, .. } = self.store.load().await?;
        let mut list = Vec::new();

        for setting in self.running.all() {
            let index = changes.iter().position(|it| it.key == setting.key);
            let change = index.map(|index| changes.swap_remove(index));
            list.push(ListedSetting { setting, change });
        }

        Ok(list)
    }

    /// Returns the changes of settings that this version does not have, which have no effect.
    pub async fn unused(&self) -> Result<Vec<SettingOverride>, SettingOverrideError> {
        let OverrideLayer { settings: mut changes, .. } = self.store.load().await?;
        let running = self.running.all();
        changes.retain(|change| !running.iter().any(|it| it.key == change.key));
        Ok(changes)
    }

    /// Changes settings, by key, on this instance, and within seconds on all
    /// others. They are validated together: either all are changed or none.
    pub async fn set(
        &self,
        by: UserId,
        values: &[(&str, String)],
    ) -> Result<(), SettingOverrideError> {
        let changes = values.iter().map(|(key, value)| self.change(by, key, value));
        let changes: Vec<_> = changes.collect::<Result<_, _>>()?;
        for _ in 0..MAX_TRIES {
            let mut layer = self.store.load().await?;
            for OverrideChange { setting, .. } in &changes {
                layer.settings.retain(|it| it.key != setting.key);
                layer.settings.push(setting.clone());
            }

            let values = layer.values(&self.running.all());
            self.running.check(&values).map_err(SettingOverrideError::Invalid)?;
            if self.store.set(changes.clone(), layer.version).await? {
                self.running.apply(layer.version + 1, values);
                return Ok(());
            }
        }

        Err(Unavailable::new("settings", "too many changes at once").into())
    }

    /// Reverts a change: the value of the other layers is in force again. An unused change is
    /// removed.
    pub async fn reset(&self, by: UserId, key: &str) -> Result<(), SettingOverrideError> {
        let key = match self.find(key) {
            Ok(setting) => setting.key,
            Err(unknown) => {
                let mut unused = self.unused().await?.into_iter();
                unused.find(|it| it.key.eq_ignore_ascii_case(key)).ok_or(unknown)?.key
            }
        };
        let object = format!("setting:{key}");
        let effects = SideEffects::of_object(self.clock.now(), Some(by), object, "Setting.Reset");

        for _ in 0..MAX_TRIES {
            let mut layer = self.store.load().await?;
            let old_count = layer.settings.len();
            layer.settings.retain(|it| it.key != key);
            // There is nothing to reset, or no longer.
            if layer.settings.len() == old_count {
                return Ok(());
            }

            let values = layer.values(&self.running.all());
            self.running.check(&values).map_err(SettingOverrideError::Invalid)?;
            if self.store.remove(&key, layer.version, effects.clone()).await? {
                self.running.apply(layer.version + 1, values);
                return Ok(());
            }
        }

        Err(Unavailable::new("settings", "too many changes at once").into())
    }

    /// Applies stored changes that are not in force on this instance. Returns
    /// the keys of secrets that it cannot decrypt.
    pub async fn refresh(&self) -> Result<Vec<String>, Unavailable> {
        let layer = self.store.load().await?;
        self.running.apply(layer.version, layer.values(&self.running.all()));
        let unreadable = layer.settings.into_iter().filter(|it| it.value.is_unreadable());
        Ok(unreadable.map(|it| it.key).collect())
    }

    fn change(
        &self,
        by: UserId,
        key: &str,
        value: &str,
    ) -> Result<OverrideChange, SettingOverrideError> {
        let RunningSetting { key, is_secret, blank, .. } = self.find(key)?;
        if is_secret && blank != BlankMeaning::Value && value.trim().is_empty() {
            return Err(SettingOverrideError::EmptySecret);
        }
        // PostgreSQL stores no NUL.
        if value.contains('\0') {
            let reason = "A value must not contain NUL characters.".to_owned();
            return Err(SettingOverrideError::Invalid(vec![reason]));
        }

        let updated_at = self.clock.now();
        let object = format!("setting:{key}");
        let effects = SideEffects::of_object(updated_at, Some(by), object, "Setting.Changed");
        let value = if is_secret {
            OverrideValue::Secret(Secret::new(value.to_owned()))
        } else {
            OverrideValue::Plain(value.to_owned())
        };
        let setting = SettingOverride { key, value, updated_at, updated_by: Some(by) };

        Ok(OverrideChange { setting, effects })
    }

    fn find(&self, key: &str) -> Result<RunningSetting, SettingOverrideError> {
        self.running
            .all()
            .into_iter()
            .filter(|it| !it.needs_restart)
            .find(|it| it.key.eq_ignore_ascii_case(key))
            .ok_or(SettingOverrideError::Unknown)
    }
}

#[cfg(test)]
mod tests;
