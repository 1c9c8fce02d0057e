//! Errors in settings: key, source and reason; never a value.
//!
//! A value's `parse` returns a `Reason`; `Field` and `Section` add key and source
//! and collect the `SettingError`s; `Sources` returns them together as
//! `SettingErrors`.

use std::borrow::Cow;
use std::fmt;

/// Number under which an error is documented. Numbers never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// A source cannot be read or parsed.
    Source,
    /// A setting without a default is missing.
    Missing,
    /// A value has the wrong form or is out of its range.
    Form,
    /// A secret is publicly known or easy to guess.
    Weak,
    /// Values that are incompatible, or not supported by this version.
    Combination,
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source => "SVC-CFG-001",
            Self::Missing => "SVC-CFG-002",
            Self::Form => "SVC-CFG-003",
            Self::Weak => "SVC-CFG-004",
            Self::Combination => "SVC-CFG-005",
        })
    }
}

/// Reason why a value is refused. It must not quote the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reason {
    pub(super) code: Code,
    pub(super) text: Cow<'static, str>,
}

impl Reason {
    pub(super) fn new(code: Code, text: impl Into<Cow<'static, str>>) -> Self {
        Self { code, text: text.into() }
    }

    /// Creates the reason for an invalid format, or a value out of range.
    pub(super) fn form(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Form, text)
    }

    /// Creates the reason for a weak secret.
    pub(super) fn weak(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Weak, text)
    }

    /// Creates the reason for an incompatible combination, or an unsupported
    /// value.
    pub(super) fn combination(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Combination, text)
    }

    /// Creates the reason for an unusable source.
    pub(super) fn source(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Source, text)
    }
}

/// Error in the settings.
#[derive(Clone, PartialEq, Eq)]
pub struct SettingError {
    key: Option<String>,
    origin: Option<String>,
    reason: Reason,
}

impl SettingError {
    pub(super) fn of_key(key: String, origin: Option<String>, reason: Reason) -> Self {
        Self { key: Some(key), origin, reason }
    }

    pub(super) fn of_source(origin: impl Into<String>, reason: Reason) -> Self {
        Self { key: None, origin: Some(origin.into()), reason }
    }

    /// Returns the number under which the error is documented.
    pub fn code(&self) -> Code {
        self.reason.code
    }

    /// Returns the key of the setting; `None` if the error concerns a source.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.reason.code)?;
        match (&self.key, &self.origin) {
            (Some(key), Some(origin)) => {
                write!(f, "setting `{}` from {}", key.escape_debug(), origin.escape_debug())?;
            }
            (Some(key), None) => write!(f, "setting `{}`", key.escape_debug())?,
            (None, origin) => {
                write!(f, "{}", origin.as_deref().unwrap_or("the settings").escape_debug())?;
            }
        }
        write!(f, ": {}", self.reason.text)
    }
}

/// Formats the error as `Display` does: `main` prints errors by `Debug`, and
/// operators need the sentence.
impl fmt::Debug for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// All errors that prevent the settings from being used.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub struct SettingErrors(Vec<SettingError>);

impl SettingErrors {
    /// Returns an error if there are any.
    pub(super) fn check(errors: Vec<SettingError>) -> Result<(), Self> {
        if errors.is_empty() { Ok(()) } else { Err(Self(errors)) }
    }

    /// Returns the errors, each for a line in the log.
    pub fn iter(&self) -> impl Iterator<Item = &SettingError> {
        self.0.iter()
    }
}

impl From<Vec<SettingError>> for SettingErrors {
    fn from(errors: Vec<SettingError>) -> Self {
        Self(errors)
    }
}

impl From<SettingError> for SettingErrors {
    fn from(error: SettingError) -> Self {
        Self(vec![error])
    }
}

impl fmt::Display for SettingErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{error}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for SettingErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
