//! Layers of settings in a common form: texts under lower-case keys, and arrays
//! as maps by index, so that any layer can override any other.
//!
//! `Sources` builds a layer for each file, for the environment, the command line and
//! the console, and merges them with `figment`, which remembers the layer of each
//! value for error messages.

use std::collections::btree_map::Entry;
use std::io::{ErrorKind, Read};
use std::path::Path;

use figment::value::{Dict, Map, Value};
use figment::{Error, Metadata, Profile, Provider};

use super::error::{Reason, SettingError};

/// Variables that have names of their own.
const NAMED: &[(&str, &str)] = &[
    ("JWT_SECRET_KEY", "Jwt:SecretKey"),
    ("JWT_PREVIOUS_SECRET_KEY", "Jwt:PreviousSecretKey"),
    ("ENCRYPTION_MASTER_KEY", "Encryption:MasterKey"),
    ("OAUTH_GOOGLE_CLIENT_ID", "OAuth:google:ClientId"),
    ("OAUTH_GOOGLE_CLIENT_SECRET", "OAuth:google:ClientSecret"),
    ("OAUTH_MICROSOFT_CLIENT_ID", "OAuth:microsoft:ClientId"),
    ("OAUTH_MICROSOFT_CLIENT_SECRET", "OAuth:microsoft:ClientSecret"),
    ("OAUTH_ENTRAID_CLIENT_ID", "OAuth:entraid:ClientId"),
    ("OAUTH_ENTRAID_CLIENT_SECRET", "OAuth:entraid:ClientSecret"),
    ("OAUTH_OIDC_CLIENT_ID", "OAuth:oidc:ClientId"),
    ("OAUTH_OIDC_CLIENT_SECRET", "OAuth:oidc:ClientSecret"),
];

/// Maximum length of a settings file.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Source of settings.
pub(super) struct Layer {
    origin: String,
    settings: Dict,
}

impl Layer {
    /// Reads a file, which may be absent.
    pub(super) fn json(name: &str, path: &Path) -> Result<Self, SettingError> {
        let error = |reason: String| SettingError::of_source(name, Reason::source(reason));
        let Some(text) = read_file(path).map_err(error)? else { return Ok(Self::empty(name)) };
        // Some editors begin a file with a byte order mark, which is not valid
        // JSON.
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let json: serde_json::Value =
            serde_json::from_str(text).map_err(|err| error(err.to_string()))?;
        if !json.is_object() {
            return Err(error("expected an object of sections".to_owned()));
        }
        Ok(Self { settings: dict(json).map_err(error)?, ..Self::empty(name) })
    }

    /// Parses `Section__Key=value` and `Section__0__Key=value`, in any case.
    /// Errors are reported for `known_sections` only.
    pub(super) fn environment(
        variables: &[(String, String)],
        known_sections: &[&str],
    ) -> Result<Self, Vec<SettingError>> {
        let mut layer = Self::empty("the environment");
        let mut errors = Vec::new();
        for (name, value) in variables {
            let alias = NAMED.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name));
            let key = match alias {
                Some((_, key)) => (*key).to_owned(),
                None => name.replace("__", ":"),
            };

            // Other programs set variables too, and `AI` does not belong to a
            // section.
            let Some((section, _)) = key.split_once(':') else { continue };

            let is_ours = known_sections.iter().any(|it| it.eq_ignore_ascii_case(section));
            let is_consistent = layer.set(&key, value);
            let reason = if value.contains(char::REPLACEMENT_CHARACTER) {
                Reason::source("expected UTF-8")
            } else if !is_consistent {
                Reason::combination("is set twice, and not to the same")
            } else {
                continue;
            };

            if is_ours {
                errors.push(SettingError::of_key(key, Some(layer.origin.clone()), reason));
            }
        }

        if errors.is_empty() { Ok(layer) } else { Err(errors) }
    }

    /// Creates the layer of the command line, of which the last value counts.
    pub(super) fn command_line(settings: &[(String, String)]) -> Self {
        let mut layer = Self::empty("the command line");
        for (key, value) in settings {
            layer.set(key, value);
        }
        layer
    }

    /// Creates the layer of settings that administrators changed in the
    /// console.
    pub(super) fn console(settings: &[(String, String)]) -> Self {
        Self { origin: "the console".to_owned(), ..Self::command_line(settings) }
    }

    fn empty(origin: &str) -> Self {
        Self { origin: origin.to_owned(), settings: Dict::new() }
    }

    /// Sets a value. Returns whether it agrees with earlier ones.
    fn set(&mut self, key: &str, value: &str) -> bool {
        let mut is_consistent = true;
        let mut path: Vec<String> = key.split(':').map(str::to_lowercase).collect();
        let Some(last) = path.pop() else { return is_consistent };

        let mut section = &mut self.settings;
        for name in path {
            let entry = section.entry(name).or_insert_with(|| Value::from(Dict::new()));
            if !matches!(entry, Value::Dict(..)) {
                *entry = Value::from(Dict::new());
                is_consistent = false;
            }
            let Value::Dict(_, inner) = entry else { return is_consistent };
            section = inner;
        }

        let previous = section.insert(last, value.into());

        is_consistent && previous.is_none_or(|previous| previous.as_str() == Some(value))
    }
}

/// Reads the text of a file; `None` if it does not exist.
fn read_file(path: &Path) -> Result<Option<String>, String> {
    // Checked before it is opened: opening a pipe would block.
    match std::fs::metadata(path) {
        Ok(it) if it.is_file() => {}
        Ok(_) => return Err("expected a file".to_owned()),
        Err(err) if err.kind() == ErrorKind::NotFound => return Ok(None),
        Err(err) => return Err(err.to_string()),
    }

    let file = std::fs::File::open(path).map_err(|err| err.to_string())?;
    let mut text = String::new();
    let length =
        file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text).map_err(|err| err.to_string())?;
    match u64::try_from(length) {
        Ok(length) if length <= MAX_FILE_BYTES => Ok(Some(text)),
        _ => Err("expected at most 1 MiB".to_owned()),
    }
}

fn dict(json: serde_json::Value) -> Result<Dict, String> {
    use serde_json::Value as Json;

    let entries: Vec<(String, Json)> = match json {
        Json::Object(fields) => fields.into_iter().collect(),
        Json::Array(items) => {
            (0..).zip(items).map(|(n, it): (u32, _)| (n.to_string(), it)).collect()
        }
        _ => Vec::new(),
    };
    let mut settings = Dict::new();
    for (name, value) in entries {
        let value = match value {
            Json::Null => continue,
            Json::String(text) => text.into(),
            Json::Object(_) | Json::Array(_) => dict(value)?.into(),
            scalar => scalar.to_string().into(),
        };
        match settings.entry(name.to_lowercase()) {
            Entry::Vacant(entry) => drop(entry.insert(value)),
            Entry::Occupied(entry) => {
                return Err(format!("`{}` is there twice", entry.key().escape_debug()));
            }
        }
    }
    Ok(settings)
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        Metadata::named(self.origin.clone())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, Error> {
        Ok(Map::from([(Profile::Default, self.settings.clone())]))
    }
}
