//! Values that must not reach a log.

use std::fmt;

use serde::{Deserialize, Deserializer};
use subtle::ConstantTimeEq;

/// A value that prints as `***`.
#[derive(Clone)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Hides `value`.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself. Whoever asks answers for where it goes.
    pub fn expose(&self) -> &T {
        &self.0
    }

    /// Takes the secret out: for what is long, and is passed on.
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
