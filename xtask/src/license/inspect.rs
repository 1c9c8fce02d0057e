//! `cargo xtask license inspect`: shows what a licence allows.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pia_kernel::{Clock as _, SystemClock};
use pia_policy::{LicenceError, LicenceReading, LicenceState, Licensed, VerifyingKey};

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
    let reading = LicenceReading::open(text, key)?;
    let licence = &reading.licence;
    let features: Vec<_> = licence.features.iter().map(|it| it.name()).collect();
    let count =
        |limit: Option<u32>| limit.map_or_else(|| "no limit".to_owned(), |it| it.to_string());
    let end = licence.expires_at.map_or_else(|| "never".to_owned(), |it| it.to_string());

    let state = match LicenceState::Loaded(licence.clone()).at(SystemClock.now()) {
        Licensed::Valid(_) => "in force",
        Licensed::Expired(_) => "ended: a server takes it no more",
        Licensed::Not => "refused",
    };

    let unknown = match reading.unknown_features.as_slice() {
        [] => String::new(),
        unknown => format!("not known:   {unknown:?}\n"),
    };

    Ok(format!(
        "signature:   good\n{}licence:     {}\nlicensee:    {}\nedition:     {}\n\
         features:    {}\n{unknown}users:       {}\nadmins:      {}\nissued at:   {}\n\
         ends:        {end}\nstanding:    {state}\n",
        keys::describe_key(key),
        licence.id,
        licence.licensee,
        licence.edition,
        features.join(" "),
        count(licence.max_users),
        count(licence.max_admins),
        licence.issued_at,
    ))
}

/// Describes the claims of an invalid licence, for finding out its origin.
fn describe_claims(text: &[u8]) -> Option<String> {
    let licence: String = std::str::from_utf8(text).ok()?.split_whitespace().collect();
    let payload = URL_SAFE_NO_PAD.decode(licence.split('.').nth(2)?).ok()?;
    let claims: serde_json::Value = serde_json::from_slice(&payload).ok()?;
    Some(format!("\nit claims, and nothing vouches for it: {claims:#}"))
}
