//! From the text of a licence to what it says.

use crate::envelope::Envelope;
use crate::licence::{Licence, LicenceError};
use crate::terms::from_payload;
use crate::verifying_key::VerifyingKey;

/// A licence, and what else was seen while reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LicenceReading {
    /// Parsed licence.
    pub licence: Licence,
    /// Features it names that this version does not know; they are not in.
    pub unknown_features: Vec<String>,
    /// Text on one line.
    pub text: String,
}

impl LicenceReading {
    /// Reads what a file holds or a person pasted, if it was signed with the
    /// other half of `key`. Blanks and line breaks do not matter.
    ///
    /// Whether the licence has ended is not asked here: that changes with time.
    pub fn open(text: impl AsRef<[u8]>, key: &VerifyingKey) -> Result<Self, LicenceError> {
        let envelope = Envelope::open(text.as_ref())?;
        let (licence, unknown_features) = from_payload(&envelope.verify(key)?)?;
        Ok(Self { licence, unknown_features, text: envelope.text() })
    }
}

impl Licence {
    /// Parses a licence that was signed with the other half of `key`;
    /// [`LicenceReading`] reports more.
    pub fn parse(text: impl AsRef<[u8]>, key: &VerifyingKey) -> Result<Self, LicenceError> {
        LicenceReading::open(text, key).map(|it| it.licence)
    }
}

#[cfg(test)]
mod tests;
