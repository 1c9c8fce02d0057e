//! Values that must not be logged.

use std::fmt;

use serde::{Deserialize, Deserializer};
use subtle::ConstantTimeEq;

/// Value whose `Debug` prints `***`.
#[derive(Clone)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Wraps a value, so that no log shows it.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// Returns the value. The caller must not log or store it.
    pub fn expose(&self) -> &T {
        &self.0
    }

    /// Consumes the wrapper and returns the value.
    pub fn reveal(self) -> T {
        self.0
    }
}

impl Secret<String> {
    /// Compares the text with `candidate` in constant time. The time taken
    /// reveals only whether the lengths differ.
    pub fn ct_eq(&self, candidate: &str) -> bool {
        self.0.as_bytes().ct_eq(candidate.as_bytes()).into()
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Secret<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self)
    }
}
