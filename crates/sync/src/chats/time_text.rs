//! Times in documents: parsed for comparison, and written in a form that every
//! client reads. A fraction of a second stays as the device wrote it, even if it
//! has one more digit than a `Timestamp`.

use std::borrow::Cow;

use pia_kernel::Timestamp;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};

/// Maximum number of fractional digits of a second that clients preserve.
const MAX_DIGITS: usize = 7;
/// Maximum number of fractional digits of a second that clients read.
const MAX_PARSED_DIGITS: usize = 16;
/// Start of the times in the year before the first, which clients do not know.
const YEAR_ZERO: &str = "0000";

/// Time, and its text.
pub(super) struct TimeText<'a> {
    pub(super) at: Timestamp,
    /// Time in UTC with the digits that the device wrote: without a zone, clients would read
    /// it as local time.
    pub(super) text: Cow<'a, str>,
}

impl<'a> TimeText<'a> {
    pub(super) fn parse(text: Cow<'a, str>) -> Option<Self> {
        let at = parse_time(&text)?;
        let is_canonical = zone_of(&text, MAX_DIGITS) == Some("Z") && !text.starts_with(YEAR_ZERO);
        let text = if is_canonical { text } else { in_utc(&text, at).into() };
        Some(Self { at, text })
    }
}

/// Returns whether every client can read a time as it is written.
pub(super) fn is_readable(text: &str) -> bool {
    // In UTC its year could be outside of the range of clients.
    let is_at_limit = ["0001-01-01", "9999-12-31"].iter().any(|it| text.starts_with(it));
    let has_readable_zone =
        zone_of(text, MAX_PARSED_DIGITS).is_some_and(|it| it.len() <= 1 || !is_at_limit);
    has_readable_zone && !text.starts_with(YEAR_ZERO) && parse_time(text).is_some()
}

fn parse_time(text: &str) -> Option<Timestamp> {
    let deserializer: StrDeserializer<'_, Error> = text.into_deserializer();
    Timestamp::deserialize(deserializer).ok()
}

/// Formats a time with `Z`, and with the fraction of a second that `text` has: zones differ by
/// whole minutes.
fn in_utc(text: &str, at: Timestamp) -> String {
    let (head, tail) = text.split_once('.').unwrap_or((text, ""));
    let (fraction, zone) = split_digits(tail);
    if fraction.is_empty() {
        return at.to_string();
    }

    let whole_second = parse_time(&format!("{head}{zone}"));
    // Beyond the range of clients, it is their first or last instant.
    let Some(whole_second) = whole_second.filter(|it| *it != at) else { return at.to_string() };

    match whole_second.to_string().strip_suffix('Z') {
        Some(second) if !second.contains('.') => {
            format!("{second}.{}Z", fraction.get(..MAX_DIGITS).unwrap_or(fraction))
        }
        _ => at.to_string(),
    }
}

/// Returns the zone, which may be empty, of `2026-08-01T09:14:02` with at most
/// `max_digits` fractional digits; `None` if the text has another form. Values are
/// checked elsewhere.
fn zone_of(text: &str, max_digits: usize) -> Option<&str> {
    const FORM: &[u8] = b"0000-00-00T00:00:00";

    let (head, tail) = text.split_at_checked(FORM.len())?;

    let fits = |(actual, form): (&u8, &u8)| match form {
        b'0' => actual.is_ascii_digit(),
        form => actual == form,
    };

    // Clients accept no leap seconds.
    if head.ends_with("60") || !head.as_bytes().iter().zip(FORM).all(fits) {
        return None;
    }

    let zone = match tail.strip_prefix('.') {
        Some(fraction_and_zone) => {
            let (fraction, zone) = split_digits(fraction_and_zone);
            if !(1..=max_digits).contains(&fraction.len()) {
                return None;
            }
            zone
        }
        None => tail,
    };
    let is_offset = zone.len() == "+00:00".len() && zone.starts_with(['+', '-']);

    (is_offset || ["", "Z"].contains(&zone)).then_some(zone)
}

/// Splits a text after the digits that it begins with.
fn split_digits(text: &str) -> (&str, &str) {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at_checked(end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(text: &str) -> Option<String> {
        TimeText::parse(text.into()).map(|it| it.text.into_owned())
    }

    #[test]
    fn canonical_times_stay_unchanged() {
        for text in [
            "2026-08-01T09:14:02Z",
            "2026-08-01T09:14:02.1837744Z",
            "0001-01-01T00:00:00Z",
            "9999-12-31T23:59:59.9999999Z",
        ] {
            assert_eq!(format(text).as_deref(), Some(text));
        }
    }

    #[test]
    fn ambiguous_times_are_normalized() {
        for (text, expected) in [
            ("0001-01-01T00:00:00", "0001-01-01T00:00:00Z"),
            ("2026-08-01T09:14:02.5", "2026-08-01T09:14:02.5Z"),
            ("2026-08-01T01:14:02.1837744+02:00", "2026-07-31T23:14:02.1837744Z"),
            ("2026-08-01T09:14:02.9999999-00:30", "2026-08-01T09:44:02.9999999Z"),
            ("2026-08-01T09:14:02+00:00", "2026-08-01T09:14:02Z"),
            ("2026-08-01 09:14:02Z", "2026-08-01T09:14:02Z"),
            ("2026-08-01t09:14:02z", "2026-08-01T09:14:02Z"),
            ("2026-08-01T09:14:02.123456789Z", "2026-08-01T09:14:02.1234567Z"),
            ("2026-12-31T23:59:60Z", "2027-01-01T00:00:00Z"),
            ("0000-06-01T00:00:00.5Z", "0001-01-01T00:00:00Z"),
            ("0001-01-01T00:30:00.5+01:00", "0001-01-01T00:00:00Z"),
            ("0001-01-01T01:00:00.5+01:00", "0001-01-01T00:00:00.5Z"),
            ("9999-12-31T23:59:59.5-01:00", "9999-12-31T23:59:59.999999Z"),
        ] {
            assert_eq!(format(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn invalid_times_are_rejected() {
        for text in ["", "now", "2026-08-01", "2026-13-01T00:00:00Z", "10000-01-01T00:00:00Z"] {
            assert_eq!(format(text), None, "{text}");
        }
    }

    #[test]
    fn only_times_that_every_client_reads_are_readable() {
        for text in [
            "2026-08-01T09:14:02Z",
            "2026-08-01T09:14:02",
            "2026-08-01T09:14:02.123456789+02:00",
            "0001-01-01T00:00:00",
            "9999-12-31T23:59:59.9999999Z",
        ] {
            assert!(is_readable(text), "{text}");
        }
        for text in [
            "",
            "2026-08-01",
            "2026-13-01T00:00:00Z",
            "2026-08-01 09:14:02Z",
            "2026-08-01T09:14:02z",
            "2026-08-01T09:14:02.Z",
            "2026-08-01T09:14:60Z",
            "2026-08-01T09:14:02+2:00",
            "0000-01-01T00:00:00Z",
            "0001-01-01T00:00:00+01:00",
            "9999-12-31T23:59:59-01:00",
        ] {
            assert!(!is_readable(text), "{text}");
        }
    }
}
