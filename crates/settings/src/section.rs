//! Reading of sections, which records the settings that they have.
//!
//! `Sources` creates the root by `Section::all`; `section` descends, `reload` and
//! `restart` return a `Field`. What is read accumulates in one `Outcome`: errors,
//! notices, and the snapshot from which `unknown.rs` derives the known keys.

use std::path::{Path, PathBuf};

use figment::Figment;
use figment::value::Value;

use super::environment::Environment;
use super::error::{Reason, SettingError};
use super::field::Field;
use super::notice::Notice;
use super::snapshot::{Effect, Snapshot};

/// Merged settings of all layers, with their sources.
pub(super) struct Layered {
    layers: Figment,
    merged: Value,
    environment: Environment,
    dir: PathBuf,
}

/// Result of reading.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) errors: Vec<SettingError>,
    pub(super) notices: Vec<Notice>,
    pub(super) snapshot: Snapshot,
    /// Sections that exist even if empty.
    pub(super) sections: Vec<String>,
    /// Ignored keys, which have a notice of their own.
    pub(super) ignored: Vec<String>,
}

/// Settings with a common prefix.
pub(super) struct Section<'a> {
    layered: &'a Layered,
    outcome: &'a mut Outcome,
    path: String,
}

impl Layered {
    pub(super) fn new(
        layers: Figment,
        environment: Environment,
        dir: PathBuf,
    ) -> Result<Self, SettingError> {
        let merged = layers.find_value("").map_err(|_err| {
            SettingError::of_source("the settings", Reason::source("cannot be put together"))
        })?;
        Ok(Self { layers, merged, environment, dir })
    }

    /// Returns the value or section of a key, in any case.
    pub(super) fn find(&self, key: &str) -> Option<&Value> {
        let mut names = key.split(':').map(str::to_lowercase);
        names.try_fold(&self.merged, |section, name| section.as_dict()?.get(&name))
    }

    /// Returns the layer of a value.
    pub(super) fn origin(&self, value: &Value) -> Option<String> {
        // A section may come from several layers; the layer of its first value
        // stands for it.
        if let Some(first) = value.as_dict().and_then(|it| it.values().next()) {
            return self.origin(first);
        }
        self.layers.get_metadata(value.tag()).map(|it| it.name.to_string())
    }

    pub(super) fn merged(&self) -> &Value {
        &self.merged
    }
}

impl<'a> Section<'a> {
    /// Creates the root section.
    pub(super) fn all(layered: &'a Layered, outcome: &'a mut Outcome) -> Self {
        Self { layered, outcome, path: String::new() }
    }

    /// Returns a section of this one.
    pub(super) fn section(&mut self, name: &str) -> Section<'_> {
        let path = join(&self.path, name);
        Section { layered: self.layered, outcome: self.outcome, path }
    }

    /// Returns a reloadable setting.
    pub(super) fn reload(&mut self, name: &str) -> Field<'_> {
        self.field(name, Effect::Reload)
    }

    /// Returns a setting that takes effect at the next start.
    pub(super) fn restart(&mut self, name: &str) -> Field<'_> {
        self.field(name, Effect::Restart)
    }

    /// Returns a setting with this effect.
    pub(super) fn field(&mut self, name: &str, effect: Effect) -> Field<'_> {
        Field::new(self.layered, self.outcome, join(&self.path, name), effect)
    }

    /// Returns the names in this section, in lower case.
    pub(super) fn names(&self) -> Vec<&'a str> {
        let section = self.layered.find(&self.path).and_then(Value::as_dict);
        section.into_iter().flat_map(|it| it.keys().map(String::as_str)).collect()
    }

    /// Returns the text of a value without registering it as a setting.
    pub(super) fn peek(&self, name: &str) -> Option<&'a str> {
        self.layered.find(&join(&self.path, name))?.as_str()
    }

    /// Registers this section, though it may be empty.
    pub(super) fn may_be_empty(&mut self) {
        self.outcome.sections.push(self.path.clone());
    }

    /// Ignores a key, with a notice of the reason.
    pub(super) fn ignore(&mut self, name: &str, text: impl Into<String>) {
        self.warn(name, text);
        self.outcome.ignored.push(join(&self.path, name).to_lowercase());
    }

    pub(super) fn environment(&self) -> &'a Environment {
        &self.layered.environment
    }

    /// Returns the folder that relative paths start from.
    pub(super) fn dir(&self) -> &'a Path {
        &self.layered.dir
    }

    /// Refuses a setting because of its combination with others.
    pub(super) fn refuse(&mut self, name: &str, reason: Reason) {
        let key = join(&self.path, name);
        let origin = self.layered.find(&key).and_then(|it| self.layered.origin(it));
        self.outcome.errors.push(SettingError::of_key(key, origin, reason));
    }

    /// Returns whether a setting was already refused.
    pub(super) fn refused(&self, name: &str) -> bool {
        let key = join(&self.path, name);
        self.outcome.errors.iter().any(|it| it.key() == Some(&key))
    }

    /// Adds a notice about a setting that is accepted.
    pub(super) fn warn(&mut self, name: &str, text: impl Into<String>) {
        let key = join(&self.path, name);
        let origin = self.layered.find(&key).and_then(|it| self.layered.origin(it));
        self.outcome.notices.push(Notice::new(key, origin, text));
    }
}

/// Joins `Section` and `Key` to `Section:Key`.
pub(super) fn join(section: &str, key: &str) -> String {
    if section.is_empty() { key.to_owned() } else { format!("{section}:{key}") }
}
