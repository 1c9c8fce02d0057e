//! Notices for operators about accepted settings.

use std::fmt;

/// Notice about a setting that is accepted but deserves attention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    key: String,
    origin: Option<String>,
    text: String,
}

impl Notice {
    pub(super) fn new(key: String, origin: Option<String>, text: impl Into<String>) -> Self {
        Self { key, origin, text: text.into() }
    }

    /// Returns the key of the setting.
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "setting `{}`", self.key.escape_debug())?;
        if let Some(origin) = &self.origin {
            write!(f, " from {}", origin.escape_debug())?;
        }
        write!(f, ": {}", self.text)
    }
}
