//! Time-based one-time passwords (RFC 6238): six digits that change every thirty seconds.
//!
//! `enrolment` is for the setup, `check` for each code. Of a valid code,
//! `check` returns the `Step`: a store accepts no code of that step or an
//! earlier one again.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pia_kernel::{Secret, Timestamp, Unavailable, random_bytes};
use qrcode::QrCode;
use qrcode::render::svg;
use totp_rs::{Algorithm, Builder, TotpError};

use crate::ports::Step;

/// Length of a secret, in bytes: SHA-1's output, and more than RFC 4226 requires.
const SECRET_BYTES: usize = 20;
const DIGITS: u8 = 6;
/// Validity period of a code, in seconds.
const STEP: u64 = 30;
/// Maximum clock drift in either direction, in steps.
const DRIFT: u16 = 1;
/// Maximum length of a typed code, in bytes.
const MAX_CODE_BYTES: usize = 32;
/// Minimum width of the QR code, in pixels.
const PICTURE: u32 = 240;

/// Details to set up an authenticator.
#[derive(Debug, Clone)]
pub struct Enrolment {
    /// The secret in base 32, to be typed.
    pub secret: Secret<String>,
    /// URI for apps: `otpauth://totp/…`.
    pub uri: Secret<String>,
    /// QR code of the URI: a picture as a `data:` URI.
    pub picture: Secret<String>,
}

/// Generates a secret, which the authenticator shares.
pub(crate) fn fresh() -> Result<Secret<Vec<u8>>, Unavailable> {
    Ok(Secret::new(random_bytes::<SECRET_BYTES>()?.to_vec()))
}

/// Returns the details to enrol a secret for the owner of this address.
pub(crate) fn enrolment(
    secret: &Secret<Vec<u8>>,
    issuer: &str,
    email: &str,
) -> Result<Enrolment, Unavailable> {
    // In the label a colon separates issuer and account.
    let totp = builder(secret)
        .with_issuer(Some(issuer.replace(':', " ")))
        .with_account_name(email.replace(':', " "))
        .build()
        .map_err(failed)?;
    let uri = totp.to_url().map_err(failed)?;
    let code = QrCode::new(&uri).map_err(|err| Unavailable::new("the QR code", err))?;
    let image = code.render::<svg::Color<'_>>().min_dimensions(PICTURE, PICTURE).build();

    Ok(Enrolment {
        secret: Secret::new(totp.secret().to_base32()),
        uri: Secret::new(uri),
        picture: Secret::new(format!("data:image/svg+xml;base64,{}", STANDARD.encode(image))),
    })
}

/// Returns the step of a valid code, if it is the current one or within the clock drift.
pub(crate) fn check(
    secret: &Secret<Vec<u8>>,
    code: &Digits,
    now: Timestamp,
) -> Result<Option<Step>, Unavailable> {
    let totp = builder(secret).build().map_err(failed)?;
    let Ok(seconds) = u64::try_from(now.micros().div_euclid(1_000_000)) else { return Ok(None) };
    let step = totp.check(code.0.expose(), seconds);
    Ok(step.and_then(|it| i64::try_from(it).ok()).map(Step))
}

/// Text in the form of a code.
pub(crate) struct Digits(Secret<String>);

impl Digits {
    /// Parses typed text. Spaces and hyphens are ignored.
    pub(crate) fn parse(typed: &Secret<String>) -> Option<Self> {
        let text = typed.expose();
        if text.len() > MAX_CODE_BYTES {
            return None;
        }
        let digits: String = text.trim().chars().filter(|it| ![' ', '-'].contains(it)).collect();
        let has_form_of_code =
            digits.len() == usize::from(DIGITS) && digits.bytes().all(|it| it.is_ascii_digit());
        has_form_of_code.then(|| Self(Secret::new(digits)))
    }
}

fn builder(secret: &Secret<Vec<u8>>) -> Builder {
    Builder::new()
        .with_algorithm(Algorithm::SHA1)
        .with_digits(DIGITS)
        .with_step_duration(STEP)
        .with_skew(DRIFT)
        .with_secret(secret.expose().clone())
}

/// Hides the library's error, which may name the account.
fn failed(_: TotpError) -> Unavailable {
    Unavailable::new("the authenticator's secret", "it makes no codes")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The secret of RFC 6238's test vectors, whose codes have eight digits;
    /// these are the last six.
    const RFC: &[u8] = b"12345678901234567890";

    fn secret() -> Secret<Vec<u8>> {
        Secret::new(RFC.to_vec())
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn accepted_step(code: &str, now: Timestamp) -> Option<i64> {
        let code = Digits::parse(&Secret::new(code.to_owned()))?;
        check(&secret(), &code, now).unwrap().map(|it| it.0)
    }

    #[test]
    fn the_codes_are_those_of_the_rfc() {
        for (seconds, code) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            assert_eq!(
                accepted_step(code, at(seconds)),
                i64::try_from(seconds / 30).ok(),
                "{code}"
            );
        }
    }

    #[test]
    fn a_code_is_valid_one_step_early_and_one_step_late_and_no_longer() {
        // Code of the step that begins at 1_111_111_110.
        let good = |seconds| accepted_step("050471", at(seconds)).is_some();

        assert!(!good(1_111_111_079));
        assert!(good(1_111_111_080));
        assert!(good(1_111_111_169));
        assert!(!good(1_111_111_170));
    }

    #[test]
    fn a_code_may_be_typed_with_a_gap() {
        for typed in ["287 082", " 287082\n", "287-082"] {
            assert_eq!(accepted_step(typed, at(59)), Some(1), "{typed:?}");
        }
    }

    #[test]
    fn malformed_codes_are_rejected() {
        for typed in
            ["", "28708", "2870822", "28708a", "+28708", "٢٨٧٠٨٢", "287\u{0}082", &" ".repeat(40)]
        {
            assert!(Digits::parse(&Secret::new(typed.to_owned())).is_none(), "{typed:?}");
        }
    }

    #[test]
    fn a_time_before_1970_has_no_codes() {
        assert_eq!(accepted_step("287082", Timestamp::from_micros(-1)), None);
    }

    #[test]
    fn secrets_are_twenty_random_bytes() {
        let new_secret = fresh().unwrap();
        let other_secret = fresh().unwrap();

        assert_eq!(new_secret.expose().len(), 20);
        assert_ne!(new_secret.expose(), other_secret.expose());
    }

    #[test]
    fn an_enrolment_has_the_secret_and_its_uri() {
        let enrolled = enrolment(&secret(), "Pia", "ada+x@example.org").unwrap();

        assert_eq!(enrolled.secret.expose(), "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
        assert_eq!(
            enrolled.uri.expose(),
            "otpauth://totp/Pia:ada%2Bx%40example.org?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Pia"
        );
    }

    #[test]
    fn the_picture_is_an_svg_of_the_uri() {
        let enrolled = enrolment(&secret(), "Pia", "ada@example.org").unwrap();

        let encoded = enrolled.picture.expose().strip_prefix("data:image/svg+xml;base64,").unwrap();
        let picture = String::from_utf8(STANDARD.decode(encoded).unwrap()).unwrap();
        let code = QrCode::new(enrolled.uri.expose()).unwrap();
        assert!(picture.starts_with("<?xml") && picture.ends_with("</svg>"));
        assert!(picture.contains("<path") && !picture.contains("<script"));
        assert_eq!(picture, code.render::<svg::Color<'_>>().min_dimensions(240, 240).build());
    }

    #[test]
    fn the_longest_address_fits_the_picture() {
        let email = format!("{}@{}.org", "ä".repeat(120), "ß".repeat(129));

        assert!(enrolment(&secret(), "An issuer: with a colon", &email).is_ok());
    }

    #[test]
    fn an_enrolment_is_redacted_in_debug_output() {
        let enrolled = enrolment(&secret(), "Pia", "ada@example.org").unwrap();

        assert!(!format!("{enrolled:?}").contains("GEZD"));
    }
}
