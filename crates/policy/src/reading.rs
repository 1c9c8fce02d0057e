//! Parsing of licence texts.

use crate::envelope::Envelope;
use crate::licence::{Licence, LicenceError};
use crate::terms::from_payload;
use crate::verifying_key::VerifyingKey;

/// Licence, and further results of reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LicenceReading {
    /// Licence whose signature was verified.
    pub licence: Licence,
    /// Names of features that this version does not know; they are not included.
    pub unknown_features: Vec<String>,
    /// Text of the licence on one line, as it is stored.
    pub text: String,
}

impl LicenceReading {
    /// Reads a licence file or a pasted text, if it was signed with the private
    /// key of `key`. Whitespace and line breaks do not matter.
    ///
    /// Expiry is not checked, because it depends on the time.
    pub fn open(text: impl AsRef<[u8]>, key: &VerifyingKey) -> Result<Self, LicenceError> {
        let envelope = Envelope::open(text.as_ref())?;
        let (licence, unknown_features) = from_payload(&envelope.verify(key)?)?;
        Ok(Self { licence, unknown_features, text: envelope.text() })
    }
}

impl Licence {
    /// Parses a licence that was signed with the private key of `key`;
    /// [`LicenceReading`] has further results.
    pub fn parse(text: impl AsRef<[u8]>, key: &VerifyingKey) -> Result<Self, LicenceError> {
        LicenceReading::open(text, key).map(|it| it.licence)
    }
}

#[cfg(test)]
mod tests;
