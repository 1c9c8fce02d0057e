//! Validation of clients' requests, with every violation collected.
//!
//! A form's `validate` reads each field once, which yields `None` and records a
//! violation if the field is invalid, and then calls `finish`: its closure builds
//! the value, and is called only if no violation was recorded.
//!
//! Texts that are signed, authenticated or encrypted are stored exactly as
//! they were sent: they are validated and never rewritten.

use std::ops::RangeInclusive;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use p256::PublicKey;
use pia_kernel::utf16_len;

use crate::device::DeviceId;
use crate::violation::Violation;

/// Length of an uncompressed point of P-256: 4, X, Y.
pub(crate) const PUBLIC_KEY: usize = 65;
/// Length of a key of 32 bytes under AES-256-GCM: nonce, ciphertext, tag.
pub(crate) const WRAPPED: usize = 60;
pub(crate) const SALT: usize = 32;
/// Length of `r` and `s`, as IEEE P1363 joins them.
pub(crate) const SIGNATURE: usize = 64;
/// Size of keys and tags of HMAC-SHA-256 here, in bytes.
pub(crate) const PROOF: usize = 32;
/// Maximum length of onboarding sessions and proofs, in bytes.
const MAX_TEXT_CHARS: usize = 200;
/// First byte of each public key in this form.
const UNCOMPRESSED: u8 = 4;

/// Collects the violations of a request.
#[derive(Debug, Default)]
pub(crate) struct FieldValidator(Vec<Violation>);

impl FieldValidator {
    /// Returns the value that `build` makes of the fields, unless there is a violation.
    pub(crate) fn finish<T>(self, build: impl FnOnce() -> Option<T>) -> Result<T, Vec<Violation>> {
        if self.0.is_empty() { build().ok_or_else(Vec::new) } else { Err(self.0) }
    }

    /// Reads a single line with at most `max` UTF-16 code units, without the spaces around
    /// it.
    pub(crate) fn line(
        &mut self,
        field: &'static str,
        value: Option<String>,
        max: usize,
    ) -> Option<String> {
        let text = self.required(field, value)?;
        self.one_line(field, &text, max).then(|| text.trim().to_owned())
    }

    /// Reads an optional line of text; a blank one counts as missing.
    pub(crate) fn optional_line(
        &mut self,
        field: &'static str,
        value: Option<String>,
        max: usize,
    ) -> Option<String> {
        let text = value.filter(|it| !it.trim().is_empty())?;
        self.one_line(field, &text, max).then(|| text.trim().to_owned())
    }

    pub(crate) fn device_id(
        &mut self,
        field: &'static str,
        value: Option<String>,
    ) -> Option<DeviceId> {
        let text = self.required(field, value)?;
        let id = DeviceId::parse(&text);
        if id.is_none() {
            let message = format!("`{field}` must be a device's id: a GUID.");
            self.0.push(Violation::new(field, "invalid", message));
        }
        id
    }

    /// Reads a text that is only compared, or validated later.
    pub(crate) fn opaque(&mut self, field: &'static str, value: Option<String>) -> Option<String> {
        let text = self.required(field, value)?;
        if text.len() > MAX_TEXT_CHARS {
            let message = format!("`{field}` may have at most {MAX_TEXT_CHARS} characters.");
            self.0.push(Violation::new(field, "too_long", message));
            return None;
        }
        Some(text)
    }

    /// Reads base64 of exactly `length` bytes and returns it as it was sent.
    pub(crate) fn bytes(
        &mut self,
        field: &'static str,
        value: Option<String>,
        length: usize,
    ) -> Option<String> {
        let text = self.required(field, value)?;
        if bytes(&text, length).is_none() {
            let message = format!("`{field}` must be {length} bytes in padded base64.");
            self.0.push(Violation::new(field, "invalid", message));
            return None;
        }
        Some(text)
    }

    pub(crate) fn public_key(
        &mut self,
        field: &'static str,
        value: Option<String>,
    ) -> Option<String> {
        let text = self.bytes(field, value, PUBLIC_KEY)?;
        let point = bytes(&text, PUBLIC_KEY).filter(|it| it.first() == Some(&UNCOMPRESSED));
        // A point that is not on the curve would make other devices agree on a
        // key that can be guessed.
        if point.is_none_or(|it| PublicKey::from_sec1_bytes(&it).is_err()) {
            let message = format!(
                "`{field}` must be an uncompressed point on the curve P-256, which begins with 4."
            );
            self.0.push(Violation::new(field, "invalid", message));
            return None;
        }

        Some(text)
    }

    /// Reads a number within bounds. `absent` is the default; without one, the number is
    /// required.
    pub(crate) fn number(
        &mut self,
        field: &'static str,
        value: Option<i64>,
        bounds: RangeInclusive<i32>,
        absent: Option<i32>,
    ) -> Option<i32> {
        let Some(number) = value else {
            if absent.is_none() {
                self.0.push(Violation::new(field, "required", format!("`{field}` is required.")));
            }
            return absent;
        };

        let number_in_bounds = i32::try_from(number).ok().filter(|it| bounds.contains(it));
        if number_in_bounds.is_none() {
            let (min, max) = bounds.into_inner();
            let message = format!("`{field}` must be between {min} and {max}.");
            self.0.push(Violation::new(field, "out_of_range", message));
        }

        number_in_bounds
    }

    /// Reads a version, which must be one of `known`; 1 if it is missing.
    pub(crate) fn version(
        &mut self,
        field: &'static str,
        value: Option<i64>,
        known: &[i16],
    ) -> Option<i16> {
        let version = value.unwrap_or(1);
        let known_version = known.iter().copied().find(|it| i64::from(*it) == version);
        if known_version.is_none() {
            let message = format!("`{field}` is {version}, which this server doesn't support.");
            self.0.push(Violation::new(field, "unknown_version", message));
        }
        known_version
    }

    fn required(&mut self, field: &'static str, value: Option<String>) -> Option<String> {
        let text = value.filter(|it| !it.trim().is_empty());
        if text.is_none() {
            self.0.push(Violation::new(field, "required", format!("`{field}` is required.")));
        }
        text
    }

    fn one_line(&mut self, field: &'static str, text: &str, max: usize) -> bool {
        if utf16_len(text) > max {
            let message = format!("`{field}` can be at most {max} characters long.");
            self.0.push(Violation::new(field, "too_long", message));
            return false;
        }
        if text.chars().any(char::is_control) {
            let message = format!("`{field}` must be a single line of text.");
            self.0.push(Violation::new(field, "invalid", message));
            return false;
        }
        true
    }
}

/// Returns the content of a text in padded base64, if it has that many bytes.
pub(crate) fn bytes(text: &str, length: usize) -> Option<Vec<u8>> {
    // A text of the wrong length is refused without being decoded.
    if text.len() != length.div_ceil(3) * 4 {
        return None;
    }
    STANDARD.decode(text).ok().filter(|it| it.len() == length)
}

#[cfg(test)]
mod tests {
    use p256::AffinePoint;
    use p256::elliptic_curve::sec1::ToSec1Point as _;

    use super::*;

    fn parse(text: &str) -> Result<String, Vec<Violation>> {
        let mut fields = FieldValidator::default();
        let salt = fields.bytes("hkdfSalt", Some(text.to_owned()), SALT);
        fields.finish(|| salt)
    }

    #[test]
    fn base64_is_validated_strictly_and_stays_unchanged() {
        let valid = STANDARD.encode([0xFF; 32]);
        assert_eq!(parse(&valid), Ok(valid.clone()));

        let faulty = [
            STANDARD.encode([0; 31]),
            STANDARD.encode([0; 33]),
            valid.trim_end_matches('=').to_owned(),
            valid.replace('/', "_"),
            format!("{valid}="),
            format!(" {valid}"),
            format!("{valid}\n"),
            // The last digit has bits that belong to no byte.
            valid.replace("8=", "9="),
            "x".repeat(100_000),
            "\u{0}".repeat(44),
        ];
        for text in faulty {
            let violations = parse(&text).unwrap_err();
            assert_eq!(violations[0].field, "hkdfSalt", "{text:.60}");
            assert_eq!(violations[0].code, "invalid", "{text:.60}");
        }
        assert_eq!(parse("").unwrap_err()[0].code, "required");
    }

    #[test]
    fn a_public_key_is_an_uncompressed_point_on_the_curve() {
        let read = |key: &[u8]| {
            FieldValidator::default().public_key("signingPublicKey", Some(STANDARD.encode(key)))
        };
        let base = AffinePoint::GENERATOR.to_sec1_point(false).as_bytes().to_vec();

        assert_eq!(read(&base), Some(STANDARD.encode(&base)));
        for first in [0, 2, 3, 6] {
            assert_eq!(read(&[&[first], &base[1..]].concat()), None, "{first}");
        }
        let beside = [&base[..64], &[base[64] ^ 1][..]].concat();
        for key in [beside, [&[4][..], &[7; 64]].concat(), [&[4][..], &[0; 64]].concat()] {
            assert_eq!(read(&key), None, "{key:?}");
        }
    }

    #[test]
    fn numbers_have_bounds_and_unknown_versions_are_refused() {
        let number =
            |value, absent| FieldValidator::default().number("umkVersion", value, 1..=9, absent);
        assert_eq!(number(Some(1), None), Some(1));
        assert_eq!(number(Some(9), None), Some(9));
        assert_eq!(number(Some(0), None), None);
        assert_eq!(number(Some(10), Some(1)), None);
        assert_eq!(number(None, None), None);
        assert_eq!(number(None, Some(1)), Some(1));
        assert_eq!(number(Some(i64::MAX), Some(1)), None);

        let version = |value| FieldValidator::default().version("signatureVersion", value, &[1, 2]);
        assert_eq!(version(None), Some(1));
        assert_eq!(version(Some(2)), Some(2));
        assert_eq!(version(Some(0)), None);
        assert_eq!(version(Some(3)), None);
        assert_eq!(version(Some(65_537)), None);
    }
}
