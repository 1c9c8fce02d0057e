//! Snapshot of every setting, to be compared with another.

use std::collections::BTreeMap;
use std::fmt;

use pia_kernel::Secret;

/// Time at which a changed setting takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Takes effect when it is reloaded.
    Reload,
    /// Takes effect at the next start.
    Restart,
}

#[derive(Clone)]
struct StoredSettings {
    effect: Effect,
    value: Option<Secret<String>>,
}

/// The settings that there are, each with what it is now. Tells names alone.
#[derive(Clone, Default)]
pub(super) struct Snapshot(BTreeMap<String, StoredSettings>);

impl Snapshot {
    pub(super) fn keep(&mut self, key: String, effect: Effect, value: Option<String>) {
        self.0.insert(key, StoredSettings { effect, value: value.map(Secret::new) });
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(super) fn effect(&self, key: &str) -> Option<Effect> {
        self.0.get(key).map(|it| it.effect)
    }

    /// Returns whether a setting is the same in both.
    pub(super) fn agrees(&self, other: &Self, key: &str) -> bool {
        let value = |of: &Self| of.0.get(key).and_then(|it| it.value.clone());
        match (value(self), value(other)) {
            (Some(this), Some(that)) => this.ct_eq(that.expose()),
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
