//! Text format of a licence: its parts and their completeness.
//!
//! Form: `pia-license-v1.<key id>.<payload>.<signature>`, the last two in base64url.
//! Order: `open` splits, `verify` checks the signature and only then decodes the
//! payload, which `terms.rs` parses. `seal` is the reverse, for `signing_key.rs`.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::licence::LicenceError;
use crate::verifying_key::VerifyingKey;

/// Maximum length of a licence file in bytes.
pub const MAX_LICENCE_BYTES: usize = 64 * 1024;

const FORM: &str = "pia-license-v1";

/// Licence split into its parts. Its content must not be trusted before
/// [`Self::verify`].
///
/// The signature covers the text before the last dot unchanged, so there is
/// exactly one encoding of a signed payload, and no parser runs before the
/// signature is verified.
pub(crate) struct Envelope {
    signed: String,
    key_id: String,
    payload: String,
    signature: [u8; 64],
}

impl Envelope {
    /// Splits the content of a licence file, or a pasted text, into its parts.
    pub(crate) fn open(bytes: &[u8]) -> Result<Self, LicenceError> {
        let text = strip_whitespace(bytes)?;
        let mut parts = text.split('.');
        check_form(parts.next().unwrap_or_default())?;
        let (Some(key_id), Some(payload), Some(signature)) =
            (parts.next(), parts.next(), parts.next())
        else {
            return Err(LicenceError::Truncated("a part of it is missing"));
        };
        if parts.next().is_some() {
            return Err(LicenceError::Truncated("it has more parts than a licence"));
        }
        if !is_key_id(key_id) {
            return Err(LicenceError::Truncated("the id of its key is incomplete"));
        }

        Ok(Self {
            signed: format!("{FORM}.{key_id}.{payload}"),
            key_id: key_id.to_owned(),
            payload: payload.to_owned(),
            signature: parse_signature(signature)?,
        })
    }

    /// Returns the payload signed with `key`, or the reason why the licence is
    /// not accepted.
    pub(crate) fn verify(&self, key: &VerifyingKey) -> Result<Vec<u8>, LicenceError> {
        if self.key_id != key.id() {
            return Err(LicenceError::Foreign(self.key_id.clone()));
        }
        if !key.verify(self.signed.as_bytes(), &self.signature) {
            return Err(LicenceError::Forged);
        }
        URL_SAFE_NO_PAD
            .decode(&self.payload)
            .map_err(|err| LicenceError::Unreadable(format!("its payload is not base64url: {err}")))
    }

    /// Returns the licence on one line, without whitespace from copying.
    pub(crate) fn text(&self) -> String {
        format!("{}.{}", self.signed, URL_SAFE_NO_PAD.encode(self.signature))
    }
}

/// Assembles a licence; the counterpart of [`Envelope`].
pub(crate) fn seal(payload: &[u8], key_id: &str, sign: impl FnOnce(&[u8]) -> Vec<u8>) -> String {
    let signed = format!("{FORM}.{key_id}.{}", URL_SAFE_NO_PAD.encode(payload));
    let signature = URL_SAFE_NO_PAD.encode(sign(signed.as_bytes()));
    format!("{signed}.{signature}")
}

/// Removes whitespace and byte order marks: mail programs and terminals wrap
/// long lines, and editors mark the beginning of a file.
fn strip_whitespace(bytes: &[u8]) -> Result<String, LicenceError> {
    if bytes.len() > MAX_LICENCE_BYTES {
        return Err(LicenceError::Truncated("it is longer than 64 KiB"));
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(LicenceError::Truncated("it is not text"));
    };
    let stripped: String = text.chars().filter(|it| !is_blank(*it)).collect();
    if stripped.is_empty() {
        return Err(LicenceError::Truncated("it is empty"));
    }
    Ok(stripped)
}

fn is_blank(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{feff}' | '\u{200b}')
}

fn check_form(form: &str) -> Result<(), LicenceError> {
    if form == FORM {
        return Ok(());
    }
    match form.strip_prefix("pia-license-v").and_then(|it| it.parse::<u16>().ok()) {
        Some(version) => Err(LicenceError::Unreadable(format!(
            "it is written in form {version}, and this server reads form 1"
        ))),
        None => Err(LicenceError::Truncated("it does not begin with `pia-license-v1.`")),
    }
}

fn is_key_id(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
}

fn parse_signature(text: &str) -> Result<[u8; 64], LicenceError> {
    let decoded = URL_SAFE_NO_PAD.decode(text).unwrap_or_default();
    decoded.try_into().map_err(|_other| LicenceError::Truncated("its signature is incomplete"))
}
