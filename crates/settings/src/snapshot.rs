//! Snapshots of all settings, for comparison.
//!
//! `Field` records each setting that it reads, under its key and in the canonical
//! text of `Setting::format`. `live.rs` compares two snapshots to find what has
//! changed, and what takes effect only at the next start.

use std::collections::BTreeMap;
use std::fmt;

use pia_kernel::Secret;
use pia_policy::{BlankMeaning, RunningSetting};

/// Time when a changed setting takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Takes effect when it is reloaded.
    Reload,
    /// Takes effect at the next start.
    Restart,
}

/// Setting as it was read.
#[derive(Clone)]
pub(super) struct StoredSetting {
    effect: Effect,
    value: Option<Secret<String>>,
    is_secret: bool,
    origin: Option<String>,
    /// Meaning of a blank text.
    pub(super) blank: BlankMeaning,
    /// Names of the values of a type that has few; empty otherwise.
    pub(super) choices: Vec<&'static str>,
}

/// Settings with their current values. Its `Debug` prints keys only.
#[derive(Clone, Default)]
pub(super) struct Snapshot(BTreeMap<String, StoredSetting>);

impl StoredSetting {
    pub(super) fn new(
        effect: Effect,
        value: Option<String>,
        is_secret: bool,
        origin: Option<String>,
    ) -> Self {
        let value = value.map(Secret::new);
        Self {
            effect,
            value,
            is_secret,
            origin,
            blank: BlankMeaning::default(),
            choices: Vec::new(),
        }
    }
}

impl Snapshot {
    pub(super) fn record(&mut self, key: String, setting: StoredSetting) {
        self.0.insert(key, setting);
    }

    /// Returns the settings with this effect, by key.
    pub(super) fn of_effect(&self, effect: Effect) -> impl Iterator<Item = RunningSetting> {
        let settings = self.0.iter().filter(move |(_, it)| it.effect == effect);
        settings.map(|(key, setting)| RunningSetting {
            key: key.clone(),
            value: if setting.is_secret {
                None
            } else {
                setting.value.as_ref().map(|it| it.expose().clone())
            },
            is_secret: setting.is_secret,
            is_set: setting.value.as_ref().is_some_and(|it| !it.expose().is_empty()),
            origin: setting.origin.clone(),
            needs_restart: setting.effect == Effect::Restart,
            blank: setting.blank,
            choices: setting.choices.clone(),
        })
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(super) fn effect(&self, key: &str) -> Option<Effect> {
        self.0.get(key).map(|it| it.effect)
    }

    /// Returns whether a setting is equal in both.
    pub(super) fn agrees(&self, other: &Self, key: &str) -> bool {
        let value = |snapshot: &Self| snapshot.0.get(key).and_then(|it| it.value.clone());
        match (value(self), value(other)) {
            (Some(own), Some(other)) => own.ct_eq(other.expose()),
            (None, None) => true,
            _ => false,
        }
    }

    #[cfg(test)]
    pub(super) fn value_of(&self, key: &str) -> Option<&str> {
        Some(self.0.get(key)?.value.as_ref()?.expose())
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.keys()).finish()
    }
}
