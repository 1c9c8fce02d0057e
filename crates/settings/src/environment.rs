//! Environment that the server runs in.

use super::fault::Reason;

/// `Development`, `Production`, or any other name that has settings of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment(String);

impl Environment {
    /// The name of `environment`, if it can be part of a file's name.
    pub(super) fn from_name(name: &str) -> Result<Self, Reason> {
        let plain = |it: char| it.is_ascii_alphanumeric() || "-_.".contains(it);
        if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
            return Err(Reason::source(
                "expected an environment's name: up to 64 letters, digits, dots or dashes",
            ));
        }
        Ok(Self(name.to_owned()))
    }

    /// Returns the environment of developers, in which safe defaults would be
    /// in the way.
    pub fn development() -> Self {
        Self("Development".to_owned())
    }

    /// Returns the environment of real use.
    pub fn production() -> Self {
        Self("Production".to_owned())
    }

    /// Name as the operator spelled it.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Returns whether this is a developer's machine.
    pub fn is_development(&self) -> bool {
        self.0.eq_ignore_ascii_case("Development")
    }
}
