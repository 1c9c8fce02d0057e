//! What an operator should know of their settings, though they are served.

use std::fmt;

/// A setting that is taken as it is, with a word to the operator.
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

    /// Which setting is meant.
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
