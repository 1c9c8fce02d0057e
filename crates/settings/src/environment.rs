//! Environment that the server runs in.

use super::error::Reason;

/// `Development`, `Production`, or another name with its own settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment(String);

impl Environment {
    /// Parses the name of an environment, which must be valid as part of a file
    /// name.
    pub(super) fn from_name(name: &str) -> Result<Self, Reason> {
        let is_allowed = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_allowed) {
            return Err(Reason::source(
                "expected an environment's name: up to 64 letters, digits, dots or dashes",
            ));
        }
        Ok(Self(name.to_owned()))
    }

    /// Returns the environment of developers, with less strict defaults.
    pub fn development() -> Self {
        Self("Development".to_owned())
    }

    /// Returns the environment of real use.
    pub fn production() -> Self {
        Self("Production".to_owned())
    }

    /// Returns the name as the operator spelled it.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Returns whether this is a developer's machine.
    pub fn is_development(&self) -> bool {
        self.0.eq_ignore_ascii_case("Development")
    }
}
