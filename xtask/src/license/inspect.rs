//! `cargo xtask license inspect`: shows what a licence allows.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pia_kernel::{Clock as _, SystemClock};
use pia_policy::{Licence, LicenceError, LicenceReading, LicenceState, Licensed, VerifyingKey};

use super::Outcome;
use super::flags::Flags;
use super::keys;

/// Describes a licence file; fails if a server would refuse it.
pub(super) fn inspect(args: impl Iterator<Item = String>) -> Outcome<String> {
    let flags = Flags::parse(args, &["public-key"])?;
    let path = flags.one_bare()?;

    let key = match flags.one("public-key")? {
        Some(text) => VerifyingKey::from_base64(text.trim())
            .ok_or("--public-key is not 32 bytes in base64")?,
        None => VerifyingKey::built_in(),
    };

    let text = fs::read(path).map_err(|err| format!("{path}: {err}"))?;
    describe_licence(&text, &key).map_err(|err| {
        let mut message = format!("{path}: {err}");
        if let LicenceError::Foreign(_) | LicenceError::Forged = err {
            message += &describe_claims(&text).unwrap_or_default();
        }
        message.into()
    })
}

/// Describes the content of a licence, as a server reads it.
pub(super) fn describe_licence(
    text: impl AsRef<[u8]>,
    key: &VerifyingKey,
) -> Result<String, LicenceError> {
    let LicenceReading { licence, unknown_features, .. } = &LicenceReading::open(text, key)?;
    let features: Vec<_> = licence.features.iter().map(|it| it.name()).collect();
    let unknown_line = match unknown_features.as_slice() {
        [] => String::new(),
        unknown => line("not known", &format!("{unknown:?}")),
    };
    let end = licence.expires_at.map_or_else(|| "never".to_owned(), |it| it.to_string());

    let lines = [
        line("signature", "good"),
        keys::describe_key(key),
        line("licence", &licence.id.to_string()),
        line("licensee", &licence.licensee),
        line("edition", &licence.edition),
        line("features", &features.join(" ")),
        unknown_line,
        line("users", &describe_limit(licence.max_users)),
        line("admins", &describe_limit(licence.max_admins)),
        line("issued at", &licence.issued_at.to_string()),
        line("ends", &end),
        line("standing", describe_state(licence)),
    ];

    Ok(lines.concat())
}

/// Formats a line of the description; its value begins after 13 characters, as in
/// `describe_key`.
fn line(name: &str, value: &str) -> String {
    let label = format!("{name}:");
    format!("{label:<13}{value}\n")
}

fn describe_limit(limit: Option<u32>) -> String {
    limit.map_or_else(|| "no limit".to_owned(), |it| it.to_string())
}

fn describe_state(licence: &Licence) -> &'static str {
    match LicenceState::Loaded(licence.clone()).at(SystemClock.now()) {
        Licensed::Valid(_) => "in force",
        Licensed::Expired(_) => "ended: a server takes it no more",
        Licensed::Not => "refused",
    }
}

/// Describes the claims of an invalid licence, for finding out its origin.
fn describe_claims(text: &[u8]) -> Option<String> {
    let licence: String = std::str::from_utf8(text).ok()?.split_whitespace().collect();
    let payload = URL_SAFE_NO_PAD.decode(licence.split('.').nth(2)?).ok()?;
    let claims: serde_json::Value = serde_json::from_slice(&payload).ok()?;
    Some(format!("\nit claims, and nothing vouches for it: {claims:#}"))
}
