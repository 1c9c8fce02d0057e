//! `cargo xtask license issue`: issues a licence.
//!
//! `parse_terms` reads the terms from the flags; without `--feature` the edition
//! decides the features.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::time::Duration;

use pia_kernel::{Clock as _, SystemClock, Timestamp};
use pia_policy::{Edition, Feature, Terms};

use super::Outcome;
use super::flags::Flags;
use super::inspect::describe_licence;
use super::keys::signing_key;

const DAY_SECONDS: u64 = 24 * 60 * 60;
const OPTIONS: [&str; 9] =
    ["key", "licensee", "edition", "feature", "max-users", "max-admins", "expires", "days", "out"];

/// Signs a licence, and describes it as a server reads it.
pub(super) fn issue(args: impl Iterator<Item = String>) -> Outcome<String> {
    let flags = Flags::parse(args, &OPTIONS)?;
    flags.none_bare()?;
    let terms = parse_terms(&flags, SystemClock.now())?;
    let key = signing_key(flags.one("key")?)?;
    let text = key.issue(&terms).map_err(|err| format!("no licence was issued: {err}"))? + "\n";
    let Some(path) = flags.one("out")? else { return Ok(text) };
    write_licence(path, &text)?;
    let description =
        describe_licence(&text, &key.verifying_key()).map_err(|err| err.to_string())?;
    Ok(format!("The licence is in {path}.\n{description}"))
}

fn parse_terms(flags: &Flags, now: Timestamp) -> Outcome<Terms> {
    let licensee = flags.one("licensee")?.ok_or("say whom the licence is for: --licensee NAME")?;
    let edition = flags.one("edition")?.unwrap_or(Edition::Community.name());
    let features = parse_features(flags)?;
    if features.is_none() && Edition::from_name(edition).is_none() {
        let names = Edition::ALL.map(Edition::name).join(", ");
        let message =
            format!("there is no edition {edition:?}: take {names}, or name --feature too");
        return Err(message.into());
    }

    Ok(Terms {
        edition: edition.to_owned(),
        features,
        max_users: flags.number("max-users")?,
        max_admins: flags.number("max-admins")?,
        expires_at: parse_expiry(flags, now)?,
        ..Terms::new(licensee, Edition::Community, now)
    })
}

fn parse_features(flags: &Flags) -> Outcome<Option<BTreeSet<Feature>>> {
    let mut features = BTreeSet::new();
    for name in flags.many("feature") {
        let feature = Feature::from_name(name).ok_or_else(|| {
            let names = Feature::ALL.map(Feature::name).join(", ");
            format!("there is no feature {name:?}: take of {names}")
        })?;
        features.insert(feature);
    }
    Ok((!features.is_empty()).then_some(features))
}

fn parse_expiry(flags: &Flags, now: Timestamp) -> Outcome<Option<Timestamp>> {
    let end = match (flags.one("expires")?, flags.number::<u64>("days")?) {
        (Some(_), Some(_)) => return Err("give --expires or --days, not both".into()),
        (Some(text), None) => parse_time(text)?,
        (None, Some(days)) => now + Duration::from_secs(days.saturating_mul(DAY_SECONDS)),
        (None, None) => return Ok(None),
    };
    if end <= now {
        return Err(format!("the licence would have ended already, at {end}").into());
    }
    Ok(Some(end))
}

/// Parses a time; a date without a time stands for the end of that day.
fn parse_time(text: &str) -> Outcome<Timestamp> {
    let date_time = if text.len() == 10 { format!("{text}T23:59:59Z") } else { text.to_owned() };
    serde_json::from_value(date_time.into()).map_err(|_not_a_time| {
        format!("--expires is no time: {text:?}; write it as 2030-12-31 or 2030-12-31T12:00:00Z")
            .into()
    })
}

/// Writes a licence. It may replace an older licence, but no other file: the
/// key may be next to it.
fn write_licence(path: &str, text: &str) -> Outcome<()> {
    match fs::read(path) {
        Ok(existing) if !existing.starts_with(b"pia-license-v1.") => {
            return Err(format!("{path} holds something else than a licence: not written").into());
        }
        Err(err) if err.kind() != ErrorKind::NotFound => {
            return Err(format!("{path}: {err}").into());
        }
        _ => {}
    }
    fs::write(path, text).map_err(|err| format!("{path}: {err}").into())
}
