//! Times as they stand in documents.

use std::borrow::Cow;

use pia_kernel::Timestamp;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};

/// A time, and how it is written.
pub(super) struct TimeText<'a> {
    pub(super) at: Timestamp,
    /// As the device wrote it, or in a form that every client reads: without a
    /// zone, each would take it for a time of its own.
    pub(super) text: Cow<'a, str>,
}

impl<'a> TimeText<'a> {
    pub(super) fn read(text: Cow<'a, str>) -> Option<Self> {
        let from: StrDeserializer<'_, Error> = text.as_ref().into_deserializer();
        let at = Timestamp::deserialize(from).ok()?;
        let text = if is_plain(text.as_bytes()) { text } else { at.to_string().into() };
        Some(Self { at, text })
    }
}

/// Whether it is `2026-08-01T09:14:02`, up to seven digits of a fraction, and
/// a zone. What it says was looked at before.
fn is_plain(text: &[u8]) -> bool {
    const FORM: &[u8] = b"0000-00-00T00:00:00";
    let Some((head, tail)) = text.split_at_checked(FORM.len()) else { return false };
    let fits = |(given, form): (&u8, &u8)| match form {
        b'0' => given.is_ascii_digit(),
        form => given == form,
    };
    // Clients know no leap seconds.
    let seconds = head.ends_with(b"60");
    if seconds || !head.iter().zip(FORM).all(fits) {
        return false;
    }
    let zone = match tail.split_first() {
        Some((b'.', fraction)) => {
            let digits = fraction.iter().take_while(|it| it.is_ascii_digit()).count();
            if !(1..=7).contains(&digits) {
                return false;
            }
            fraction.get(digits..).unwrap_or_default()
        }
        _ => tail,
    };
    zone == b"Z" || (zone.len() == b"+00:00".len() && matches!(zone.first(), Some(b'+' | b'-')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Option<String> {
        TimeText::read(text.into()).map(|it| it.text.into_owned())
    }

    #[test]
    fn what_every_client_reads_stays_as_it_was_written() {
        for text in [
            "2026-08-01T09:14:02Z",
            "2026-08-01T09:14:02.1837744Z",
            "2026-08-01T09:14:02.5+02:00",
            "0001-01-01T00:00:00Z",
            "9999-12-31T23:59:59.9999999Z",
        ] {
            assert_eq!(written(text).as_deref(), Some(text));
        }
    }

    #[test]
    fn what_some_would_read_otherwise_is_written_anew() {
        for (text, told) in [
            ("0001-01-01T00:00:00", "0001-01-01T00:00:00Z"),
            ("2026-08-01T09:14:02.5", "2026-08-01T09:14:02.500Z"),
            ("2026-08-01 09:14:02Z", "2026-08-01T09:14:02Z"),
            ("2026-08-01t09:14:02z", "2026-08-01T09:14:02Z"),
            ("2026-08-01T09:14:02.123456789Z", "2026-08-01T09:14:02.123457Z"),
            ("2026-12-31T23:59:60Z", "2027-01-01T00:00:00Z"),
        ] {
            assert_eq!(written(text).as_deref(), Some(told), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in ["", "now", "2026-08-01", "2026-13-01T00:00:00Z", "10000-01-01T00:00:00Z"] {
            assert_eq!(written(text), None, "{text}");
        }
    }
}
