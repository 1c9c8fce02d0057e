//! Private key that signs licences, for issuers: servers only verify.
//!
//! `issue` is the main call: `Terms` in, the text of a licence out. The file has one
//! line `pia-license-key-v1.<seed in base64url>`, and comments.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pia_kernel::Secret;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair as _};

use crate::envelope::seal;
use crate::licence::LicenceError;
use crate::reading::LicenceReading;
use crate::terms::Terms;
use crate::verifying_key::VerifyingKey;

const FORM: &str = "pia-license-key-v1.";

/// Ed25519 key that signs licences.
pub struct SigningKey {
    seed: Secret<[u8; 32]>,
    pair: Ed25519KeyPair,
}

/// Errors that occur when a signing key is parsed or generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LicenceKeyError {
    /// Text is not exactly one key.
    #[error("there must be one line of the form `{FORM}…`")]
    Form,
    /// Key is not 32 bytes long.
    #[error("the key is not 32 bytes in base64url")]
    Length,
    /// Random number generator failed.
    #[error("the machine's random number generator failed")]
    Random,
}

impl SigningKey {
    /// Generates a key.
    pub fn generate() -> Result<Self, LicenceKeyError> {
        let mut seed = [0; 32];
        SystemRandom::new().fill(&mut seed).map_err(|_unspecified| LicenceKeyError::Random)?;
        Self::from_seed(seed)
    }

    /// Parses a key file as [`Self::to_text`] writes it; lines that begin with
    /// `#` are comments.
    pub fn parse(text: &str) -> Result<Self, LicenceKeyError> {
        let mut lines =
            text.lines().map(str::trim).filter(|it| !it.is_empty() && !it.starts_with('#'));
        let (Some(line), None) = (lines.next(), lines.next()) else {
            return Err(LicenceKeyError::Form);
        };
        let encoded = line.strip_prefix(FORM).ok_or(LicenceKeyError::Form)?;
        let seed =
            URL_SAFE_NO_PAD.decode(encoded).map_err(|_not_base64| LicenceKeyError::Length)?;
        Self::from_seed(seed.try_into().map_err(|_other| LicenceKeyError::Length)?)
    }

    /// Returns the text of a key file.
    pub fn to_text(&self) -> Secret<String> {
        Secret::new(format!("{FORM}{}\n", URL_SAFE_NO_PAD.encode(self.seed.expose())))
    }

    /// Returns the key that verifies the licences of this key.
    pub fn verifying_key(&self) -> VerifyingKey {
        let mut bytes = [0; 32];
        for (to, from) in bytes.iter_mut().zip(self.pair.public_key().as_ref()) {
            *to = *from;
        }
        VerifyingKey::from_bytes(bytes)
    }

    /// Issues a licence with these terms.
    ///
    /// The licence is parsed before it is returned, so that none is issued that
    /// a server would refuse.
    pub fn issue(&self, terms: &Terms) -> Result<String, LicenceError> {
        let verifying = self.verifying_key();
        let payload = terms.to_payload()?;
        let text = seal(&payload, &verifying.id(), |it| self.pair.sign(it).as_ref().to_vec());
        LicenceReading::open(&text, &verifying)?;
        Ok(text)
    }

    /// Signs any message, even an invalid licence.
    #[cfg(test)]
    pub(crate) fn sign_for_tests(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message).as_ref().to_vec()
    }

    fn from_seed(seed: [u8; 32]) -> Result<Self, LicenceKeyError> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed)
            .map_err(|_rejected| LicenceKeyError::Length)?;
        Ok(Self { seed: Secret::new(seed), pair })
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey(of {})", self.verifying_key().id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_restored_from_its_file() {
        let key = SigningKey::generate().unwrap();

        let text = format!("# a remark\n\n{}", key.to_text().expose());
        let parsed_key = SigningKey::parse(&text).unwrap();

        assert_eq!(parsed_key.verifying_key(), key.verifying_key());
    }

    #[test]
    fn an_invalid_key_file_is_refused() {
        let key = SigningKey::generate().unwrap().to_text();

        for (text, error) in [
            (String::new(), LicenceKeyError::Form),
            ("# nothing but a remark".to_owned(), LicenceKeyError::Form),
            (key.expose().replace("v1", "v2"), LicenceKeyError::Form),
            (key.expose().repeat(2), LicenceKeyError::Form),
            (key.expose().trim().to_owned() + "A", LicenceKeyError::Length),
            (format!("{FORM}AAAA"), LicenceKeyError::Length),
        ] {
            assert_eq!(SigningKey::parse(&text).unwrap_err(), error, "{text}");
        }
    }

    #[test]
    fn a_private_key_is_never_printed() {
        let key = SigningKey::generate().unwrap();

        let printed = format!("{key:?}");

        assert_eq!(printed, format!("SigningKey(of {})", key.verifying_key().id()));
    }
}
