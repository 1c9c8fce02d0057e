//! Settings of a group.
//!
//! A `SettingChange` changes one setting and leaves the others; `GroupSettings::with`
//! applies a list of them to a copy, all or none. The store calls it with the current
//! settings under a lock.

use std::collections::BTreeMap;

use pia_kernel::{BudgetPeriod, CreditLimits, utf16_len};
use serde::Serialize;

use super::quota::Quota;

/// Maximum of any limit. Sums of such limits in millionths still fit into
/// integers.
pub const MAX_LIMIT: i64 = 1_000_000_000_000;
/// Modes for which a group may choose a catalogue entry.
pub const MODES: [&str; 3] = ["Optimize", "Assistant", "Research"];
/// Maximum length of a persona type's name in characters.
const MAX_TYPE_CHARS: usize = 50;
/// Maximum length of a catalogue entry's id in characters.
const MAX_ENTRY_CHARS: usize = 100;
const MAX_TYPES: usize = 100;
const MAX_MODELS: usize = 200;

/// Settings of a group.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupSettings {
    /// Quotas that differ from the default.
    pub quotas: BTreeMap<Quota, i64>,
    /// Spending limits.
    pub credits: CreditLimits,
    /// Catalogue entry that serves a mode (`ModeProviderIds`); the modes as
    /// [`MODES`] spells them.
    pub modes: BTreeMap<String, String>,
    /// Catalogue entry that serves a persona's type in conversations
    /// (`PersonaTypeProviderIds`); the types in lower case.
    pub persona_types: BTreeMap<String, String>,
    /// Catalogue entries that a request may name as its model, in the order in which
    /// they were listed.
    pub models: Vec<String>,
}

/// Change of one setting; `None` restores its default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingChange {
    /// Changes a quota.
    Quota(Quota, Option<i64>),
    /// Changes a spending limit.
    Credits(BudgetPeriod, Option<i64>),
    /// Sharing of the unused part of a week's allowances in the next week.
    Pool(bool),
    /// Changes the catalogue entry that serves a mode.
    Mode(String, Option<String>),
    /// Changes the catalogue entry that serves a persona's type.
    PersonaType(String, Option<String>),
    /// Replaces the catalogue entries that a request may name.
    Models(Vec<String>),
}

/// Errors that make a group's settings invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Limit is out of its range.
    #[error("a limit is a whole number, 0 to {MAX_LIMIT}")]
    Limit,
    /// Mode is unknown.
    #[error("the modes are Optimize, Assistant and Research")]
    Mode,
    /// Persona type is invalid.
    #[error("a persona's type has 1 to {MAX_TYPE_CHARS} characters that can be read")]
    PersonaType,
    /// Catalogue entry id is invalid.
    #[error("the id of a catalogue entry has 1 to {MAX_ENTRY_CHARS} characters that can be read")]
    Entry,
    /// Too many types.
    #[error("a group has entries for {MAX_TYPES} types of personas at most")]
    TooManyTypes,
    /// Too many models.
    #[error("a group allows {MAX_MODELS} models at most")]
    TooManyModels,
}

impl GroupSettings {
    /// Returns a quota of the group's members; `None` where the server's
    /// settings decide.
    pub fn quota(&self, quota: Quota) -> Option<i64> {
        self.quotas.get(&quota).copied().or(quota.default_limit())
    }

    /// Returns the settings with all changes applied in order; fails if any of
    /// them is invalid.
    pub fn with(&self, changes: &[SettingChange]) -> Result<Self, SettingsError> {
        let mut settings = self.clone();
        for change in changes {
            settings.apply(change)?;
        }
        if settings.persona_types.len() > MAX_TYPES {
            return Err(SettingsError::TooManyTypes);
        }
        Ok(settings)
    }

    fn apply(&mut self, change: &SettingChange) -> Result<(), SettingsError> {
        match change {
            SettingChange::Quota(quota, limit) => {
                put(&mut self.quotas, *quota, limit.map(parse_limit).transpose()?);
            }
            SettingChange::Credits(period, limit) => {
                self.credits.set(*period, parse_limit(limit.unwrap_or_default())?);
            }
            SettingChange::Pool(pool) => self.credits.pool = *pool,
            SettingChange::Mode(mode, entry) => {
                let mode = MODES
                    .into_iter()
                    .find(|it| it.eq_ignore_ascii_case(mode.trim()))
                    .ok_or(SettingsError::Mode)?;
                let entry = entry.as_deref().map(entry_id).transpose()?;
                put(&mut self.modes, mode.to_owned(), entry);
            }
            SettingChange::PersonaType(name, entry) => {
                let name = trim_legible(name, MAX_TYPE_CHARS).ok_or(SettingsError::PersonaType)?;
                let entry = entry.as_deref().map(entry_id).transpose()?;
                put(&mut self.persona_types, name.to_lowercase(), entry);
            }
            SettingChange::Models(models) => self.models = distinct_models(models)?,
        }

        Ok(())
    }
}

fn put<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: Option<V>) {
    match value {
        Some(value) => drop(map.insert(key, value)),
        None => drop(map.remove(&key)),
    }
}

fn parse_limit(limit: i64) -> Result<i64, SettingsError> {
    let in_range = (0..=MAX_LIMIT).contains(&limit);
    if in_range { Ok(limit) } else { Err(SettingsError::Limit) }
}

/// Returns the ids in their order, each once without regard to case.
fn distinct_models(models: &[String]) -> Result<Vec<String>, SettingsError> {
    let mut distinct: Vec<String> = Vec::new();
    for model in models {
        let id = entry_id(model)?;
        if !distinct.iter().any(|it| it.eq_ignore_ascii_case(&id)) {
            distinct.push(id);
        }
    }

    if distinct.len() > MAX_MODELS {
        return Err(SettingsError::TooManyModels);
    }
    Ok(distinct)
}

fn entry_id(id: &str) -> Result<String, SettingsError> {
    Ok(trim_legible(id, MAX_ENTRY_CHARS).ok_or(SettingsError::Entry)?.to_owned())
}

/// Returns the trimmed text if it is neither empty nor too long and has no
/// control characters.
fn trim_legible(text: &str, max_chars: usize) -> Option<&str> {
    let text = text.trim();
    let fits = utf16_len(text) <= max_chars && utf16_len(&text.to_lowercase()) <= max_chars;
    let is_legible = !text.is_empty() && !text.chars().any(char::is_control);
    (fits && is_legible).then_some(text)
}

#[cfg(test)]
mod tests;
