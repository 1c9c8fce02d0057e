//! Reading of single settings, with their defaults and ranges.
//!
//! A section calls `from.reload(NAME)` or `from.restart(NAME)`, which returns a
//! `Field`, and then one of the methods below, which differ in the treatment of an
//! absent, a blank and an invalid text. Each method records the setting in the
//! snapshot, also if it is absent: a setting that is not read counts as unknown.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use figment::value::Value;
use pia_policy::BlankMeaning;

use super::error::{Code, Reason, SettingError};
use super::section::{Layered, Outcome, join};
use super::setting::{Setting, choice_names};
use super::snapshot::{Effect, StoredSetting};

/// Setting to be read. An invalid value is recorded, and reading continues with
/// the default, so that an operator sees all errors at once.
pub(super) struct Field<'a> {
    layered: &'a Layered,
    outcome: &'a mut Outcome,
    key: String,
    effect: Effect,
    /// Meaning of a blank text.
    blank: BlankMeaning,
    is_list: bool,
}

impl<'a> Field<'a> {
    pub(super) fn new(
        layered: &'a Layered,
        outcome: &'a mut Outcome,
        key: String,
        effect: Effect,
    ) -> Self {
        Self { layered, outcome, key, effect, blank: BlankMeaning::default(), is_list: false }
    }

    /// Returns the value, or else the default.
    pub(super) fn or<T: Setting>(mut self, default: T) -> T {
        let value = self.parse().unwrap_or(default);
        self.record::<T>(Some(value.format()));
        value
    }

    /// Returns the value, or else the default, also for a blank text.
    pub(super) fn or_where_blank<T: Setting>(mut self, default: T) -> T {
        let text = self.non_blank_text();
        let value = text.and_then(|it| self.parse_text(it)).unwrap_or(default);
        self.record::<T>(Some(value.format()));
        value
    }

    /// Returns the value if it is in the range, or else the default.
    pub(super) fn within<T: Setting + PartialOrd>(
        mut self,
        default: T,
        range: RangeInclusive<T>,
    ) -> T {
        let value = match self.parse() {
            Some(value) if !range.contains(&value) => {
                self.refuse_out_of(&range);
                default
            }
            value => value.unwrap_or(default),
        };
        self.record::<T>(Some(value.format()));
        value
    }

    /// Returns the value if present and in the range; a blank text counts as
    /// absent.
    pub(super) fn optional_within<T: Setting + PartialOrd>(
        mut self,
        range: RangeInclusive<T>,
    ) -> Option<T> {
        self.blank = BlankMeaning::Unset;
        let text = self.non_blank_text();
        let value = match text.and_then(|it| self.parse_text::<T>(it)) {
            Some(value) if !range.contains(&value) => {
                self.refuse_out_of(&range);
                None
            }
            value => value,
        };
        self.record::<T>(value.as_ref().map(Setting::format));
        value
    }

    /// Returns the value if present; a blank text counts as absent.
    pub(super) fn optional<T: Setting>(mut self) -> Option<T> {
        self.blank = BlankMeaning::Unset;
        let text = self.non_blank_text();
        let value = text.and_then(|it| self.parse_text(it));
        self.record::<T>(value.as_ref().map(Setting::format));
        value
    }

    /// Returns the value if present, even if blank: a blank text may hide a
    /// default.
    pub(super) fn optional_or_blank<T: Setting>(mut self) -> Option<T> {
        self.blank = BlankMeaning::Value;
        let value = self.parse();
        self.record::<T>(value.as_ref().map(Setting::format));
        value
    }

    /// Returns the value, which is required; `advice` explains how to set it.
    pub(super) fn required<T: Setting>(mut self, advice: &'static str) -> Option<T> {
        let text = self.non_blank_text();
        let value = text.and_then(|it| self.parse_text(it));
        if text.is_none() && self.raw_value().is_none_or(|it| it.as_str().is_some()) {
            self.refuse(Reason::new(Code::Missing, format!("is missing: {advice}")));
        }
        self.record::<T>(value.as_ref().map(Setting::format));
        value
    }

    /// Returns the items of a list, or of a text separated by commas.
    pub(super) fn list<T: Setting>(mut self) -> Vec<T> {
        self.is_list = true;
        let mut values = Vec::new();
        match self.raw_value() {
            Some(Value::Dict(_, items)) => {
                let mut numbered: Vec<(usize, &Value)> = Vec::new();
                for (index, item) in items {
                    match index.parse() {
                        Ok(number) => numbered.push((number, item)),
                        Err(_) => self.refuse_item(index, item, "expected the index of an item"),
                    }
                }

                numbered.sort_by_key(|(number, _)| *number);

                for (number, item) in numbered {
                    values.extend(self.item(number, item));
                }
            }
            Some(Value::String(_, text)) => {
                let items = text.split(',').filter(|it| !it.trim().is_empty());
                values.extend(items.map_while(|it| self.parse_text::<T>(it)));
            }
            _ => {}
        }

        let formatted: Vec<_> = values.iter().map(Setting::format).collect();
        self.record::<T>(Some(formatted.join(",")));

        values
    }

    fn item<T: Setting>(&mut self, number: usize, item: &Value) -> Option<T> {
        let index = number.to_string();
        let Some(text) = item.as_str() else {
            self.refuse_item(&index, item, "expected a single value");
            return None;
        };

        match T::parse(text) {
            Ok(value) => Some(value),
            Err(reason) => {
                self.refuse_item(&index, item, reason.text);
                None
            }
        }
    }

    fn refuse_item(&mut self, index: &str, item: &Value, text: impl Into<Cow<'static, str>>) {
        let key = join(&self.key, index);
        let origin = self.layered.origin(item);
        self.outcome.errors.push(SettingError::of_key(key, origin, Reason::form(text)));
    }

    fn raw_value(&self) -> Option<&'a Value> {
        self.layered.find(&self.key)
    }

    fn text(&mut self) -> Option<&'a str> {
        let raw_value = self.raw_value()?;
        if raw_value.as_str().is_none() {
            self.refuse(Reason::form("expected a single value"));
        }
        raw_value.as_str()
    }

    fn non_blank_text(&mut self) -> Option<&'a str> {
        self.text().filter(|it| !it.trim().is_empty())
    }

    fn parse<T: Setting>(&mut self) -> Option<T> {
        self.text().and_then(|it| self.parse_text(it))
    }

    fn parse_text<T: Setting>(&mut self, text: &str) -> Option<T> {
        T::parse(text).map_err(|reason| self.refuse(reason)).ok()
    }

    fn refuse_out_of<T: Setting>(&mut self, range: &RangeInclusive<T>) {
        let start = range.start().format();
        let end = range.end().format();
        self.refuse(Reason::form(format!("expected a value from {start} to {end}")));
    }

    fn refuse(&mut self, reason: Reason) {
        let origin = self.raw_value().and_then(|it| self.layered.origin(it));
        self.outcome.errors.push(SettingError::of_key(self.key.clone(), origin, reason));
    }

    fn record<T: Setting>(self, value: Option<String>) {
        let origin = self.raw_value().and_then(|it| self.layered.origin(it));
        let mut setting = StoredSetting::new(self.effect, value, T::IS_SECRET, origin);
        setting.blank = self.blank;
        // A list has any number of the choices.
        if !self.is_list {
            setting.choices = choice_names::<T>();
        }
        self.outcome.snapshot.record(self.key, setting);
    }
}
