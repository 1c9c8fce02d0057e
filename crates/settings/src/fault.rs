//! Errors in settings: key, source and reason; never a value.

use std::borrow::Cow;
use std::fmt;

/// Under which number a fault is documented. The numbers never move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// A source cannot be read or taken apart.
    Source,
    /// A setting without a default is missing.
    Missing,
    /// A value has the wrong form or is out of its range.
    Form,
    /// A secret is one that others know or may guess.
    Weak,
    /// Values that cannot work together, or that this version cannot serve.
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

/// Reason why a value is refused. Whoever makes one quotes nothing of the
/// value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reason {
    pub(super) code: Code,
    pub(super) text: Cow<'static, str>,
}

impl Reason {
    pub(super) fn new(code: Code, text: impl Into<Cow<'static, str>>) -> Self {
        Self { code, text: text.into() }
    }

    /// The wrong form, or out of range.
    pub(super) fn form(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Form, text)
    }

    /// No secret, though it is used as one.
    pub(super) fn weak(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Weak, text)
    }

    /// Impossible together with something else, or in this version.
    pub(super) fn combination(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Combination, text)
    }

    /// A source that cannot be used.
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

    /// Under which number it is documented.
    pub fn code(&self) -> Code {
        self.reason.code
    }

    /// Returns the key of the setting; nothing where a whole source is meant.
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

/// The sentence again: `main` prints errors so, and an operator is owed it.
impl fmt::Debug for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Everything for which the settings cannot be used, found in one go.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub struct Faults(Vec<SettingError>);

impl Faults {
    /// Fails if there are any.
    pub(super) fn check(faults: Vec<SettingError>) -> Result<(), Self> {
        if faults.is_empty() { Ok(()) } else { Err(Self(faults)) }
    }

    /// Errors, each worth a line in the log.
    pub fn iter(&self) -> impl Iterator<Item = &SettingError> {
        self.0.iter()
    }
}

impl From<Vec<SettingError>> for Faults {
    fn from(faults: Vec<SettingError>) -> Self {
        Self(faults)
    }
}

impl From<SettingError> for Faults {
    fn from(fault: SettingError) -> Self {
        Self(vec![fault])
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, fault) in self.0.iter().enumerate() {
            let gap = if nth == 0 { "" } else { "\n" };
            write!(f, "{gap}{fault}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
