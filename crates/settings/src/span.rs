//! Durations, as operators write them.

use std::time::Duration;

use super::error::Reason;
use super::setting::Setting;

const UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Formats: `00:15:00`, `1.12:00:00` (a day and a half), `500ms`, `30s`, `15m`,
/// `8h` or `30d`. A bare number is refused, since its unit is unknown.
impl Setting for Duration {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        let text = text.trim();
        let millis = if text.contains(':') { clock(text) } else { unit(text) };
        millis
            .map(Self::from_millis)
            .ok_or(Reason::form("expected a duration such as 00:15:00, 1.12:00:00, 15m or 500ms"))
    }

    /// Formats the duration in the largest unit that divides it.
    fn format(&self) -> String {
        let millis = self.as_millis();
        let divides = |unit: u64| millis > 0 && millis.is_multiple_of(u128::from(unit));
        let (name, unit) =
            UNITS.iter().rev().find(|(_, unit)| divides(*unit)).unwrap_or(&("s", 1000));
        format!("{}{name}", millis / u128::from(*unit))
    }
}

/// Parses `hh:mm:ss`, with days before a dot. More than 23 hours are refused:
/// `24:00:00` is ambiguous, as .NET parses it as 24 days.
fn clock(text: &str) -> Option<u64> {
    let (days, time) = match text.split_once('.') {
        Some((days, time)) => (digits(days)?, time),
        None => (0, text),
    };

    let mut parts = time.split(':').map(|it| if it.len() <= 2 { digits(it) } else { None });
    let hours = parts.next()??;
    let minutes = parts.next()??;
    let seconds = parts.next()??;
    if parts.next().is_some() || hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }

    let seconds = (hours * 60 + minutes) * 60 + seconds;

    days.checked_mul(86_400)?.checked_add(seconds)?.checked_mul(1000)
}

fn unit(text: &str) -> Option<u64> {
    let end = text.find(|it: char| !it.is_ascii_digit())?;
    let (number, name) = text.split_at_checked(end)?;
    let (_, unit) = UNITS.iter().find(|(unit, _)| *unit == name.trim_start())?;
    digits(number)?.checked_mul(*unit)
}

fn digits(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_parsed() {
        for (text, millis) in [
            ("00:15:00", 900_000),
            (" 1:02:03 ", 3_723_000),
            ("1.12:00:00", 129_600_000),
            ("500ms", 500),
            ("30s", 30_000),
            ("15m", 900_000),
            ("8 h", 28_800_000),
            ("30d", 2_592_000_000),
            ("0s", 0),
        ] {
            assert_eq!(Duration::parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn ambiguous_durations_are_rejected() {
        for text in [
            "",
            "15",
            "15:00",
            "24:00:00",
            "00:60:00",
            "00:00:60",
            "-1s",
            "+1s",
            "1.5h",
            "1w",
            "s",
            "1M",
            "1:2:3:4",
            ".00:00:01",
            "00:00:00.5",
            "99999999999999999999d",
            "18446744073709551615d",
            "15m 30s",
        ] {
            assert!(Duration::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn equal_durations_have_the_same_format() {
        for (text, formatted) in [
            ("00:15:00", "15m"),
            ("90s", "90s"),
            ("24h", "1d"),
            ("1500ms", "1500ms"),
            ("0ms", "0s"),
        ] {
            assert_eq!(Duration::parse(text).unwrap().format(), formatted);
        }
    }
}
