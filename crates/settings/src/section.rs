//! Reading one section: which settings it has is said by asking for them.

use std::path::{Path, PathBuf};

use figment::Figment;
use figment::value::Value;

use super::environment::Environment;
use super::fault::{Reason, SettingError};
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

/// Outcome of reading.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) faults: Vec<SettingError>,
    pub(super) notices: Vec<Notice>,
    pub(super) snapshot: Snapshot,
    /// Sections that are known though nothing may be in them.
    pub(super) sections: Vec<String>,
    /// Ignored keys, with a notice of their own.
    pub(super) ignored: Vec<String>,
}

/// Some settings with a common beginning of their names.
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
        let merged = layers.find_value("").map_err(|_may_quote| {
            SettingError::of_source("the settings", Reason::source("cannot be put together"))
        })?;
        Ok(Self { layers, merged, environment, dir })
    }

    /// The value or section with this name, which may be spelled in any case.
    pub(super) fn find(&self, key: &str) -> Option<&Value> {
        let mut names = key.split(':').map(str::to_lowercase);
        names.try_fold(&self.merged, |section, name| section.as_dict()?.get(&name))
    }

    /// Returns the layer of a value.
    pub(super) fn origin(&self, value: &Value) -> Option<String> {
        // A section may be from many; the first of its values stands for it.
        let value = match value.as_dict().and_then(|it| it.values().next()) {
            Some(first) => return self.origin(first),
            None => value,
        };
        self.layers.get_metadata(value.tag()).map(|it| it.name.to_string())
    }

    pub(super) fn merged(&self) -> &Value {
        &self.merged
    }
}

impl<'a> Section<'a> {
    /// All of them.
    pub(super) fn all(layered: &'a Layered, outcome: &'a mut Outcome) -> Self {
        Self { layered, outcome, path: String::new() }
    }

    /// A section in this one.
    pub(super) fn section(&mut self, name: &str) -> Section<'_> {
        let path = join(&self.path, name);
        Section { layered: self.layered, outcome: self.outcome, path }
    }

    /// A setting that takes effect when it is read again.
    pub(super) fn reload(&mut self, name: &str) -> Field<'_> {
        self.field(name, Effect::Reload)
    }

    /// A setting that takes effect at the next start.
    pub(super) fn restart(&mut self, name: &str) -> Field<'_> {
        self.field(name, Effect::Restart)
    }

    /// A setting that takes effect then.
    pub(super) fn field(&mut self, name: &str, effect: Effect) -> Field<'_> {
        Field::new(self.layered, self.outcome, join(&self.path, name), effect)
    }

    /// Returns the names in this section, in lower case.
    pub(super) fn names(&self) -> Vec<&'a str> {
        let section = self.layered.find(&self.path).and_then(Value::as_dict);
        section.into_iter().flat_map(|it| it.keys().map(String::as_str)).collect()
    }

    /// The text of something, not read as a setting.
    pub(super) fn peek(&self, name: &str) -> Option<&'a str> {
        self.layered.find(&join(&self.path, name))?.as_str()
    }

    /// Makes this section known though nothing may be in it.
    pub(super) fn may_be_empty(&mut self) {
        self.outcome.sections.push(self.path.clone());
    }

    /// Leaves something aside, and reports why.
    pub(super) fn ignore(&mut self, name: &str, text: impl Into<String>) {
        self.warn(name, text);
        self.outcome.ignored.push(join(&self.path, name).to_lowercase());
    }

    pub(super) fn environment(&self) -> &'a Environment {
        &self.layered.environment
    }

    /// The folder that relative paths start from.
    pub(super) fn dir(&self) -> &'a Path {
        &self.layered.dir
    }

    /// Refuses a setting for what it is together with others.
    pub(super) fn refuse(&mut self, name: &str, reason: Reason) {
        let key = join(&self.path, name);
        let origin = self.layered.find(&key).and_then(|it| self.layered.origin(it));
        self.outcome.faults.push(SettingError::of_key(key, origin, reason));
    }

    /// Returns whether a setting was refused already.
    pub(super) fn refused(&self, name: &str) -> bool {
        let key = join(&self.path, name);
        self.outcome.faults.iter().any(|it| it.key() == Some(&key))
    }

    /// Takes a setting, and has something to say of it.
    pub(super) fn warn(&mut self, name: &str, text: impl Into<String>) {
        let key = join(&self.path, name);
        let origin = self.layered.find(&key).and_then(|it| self.layered.origin(it));
        self.outcome.notices.push(Notice::new(key, origin, text));
    }
}

/// `Section` and `Key` as `Section:Key`.
pub(super) fn join(section: &str, key: &str) -> String {
    if section.is_empty() { key.to_owned() } else { format!("{section}:{key}") }
}
