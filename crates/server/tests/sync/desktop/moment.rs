//! Times as .NET stores and formats them: tenths of microseconds since year 1.

use std::fmt;

use pia_kernel::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Moment(pub(crate) i64);

const TICKS: i64 = 10_000_000;
const DAY: i64 = 86_400;
/// Days from year 1 to 1970.
const BEFORE_1970: i64 = 719_162;

impl Moment {
    /// First of January of year 1, the initial cursor of a device.
    pub(crate) const FIRST: Self = Self(0);

    /// Returns the moment `seconds` later.
    pub(crate) fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0 + seconds * TICKS)
    }

    /// Returns the moment at the precision that a server stores, the microsecond.
    pub(crate) fn rounded(self) -> Self {
        Self((self.0 + 5) / 10 * 10)
    }

    /// Formats with all seven digits, as in a query.
    pub(crate) fn exact(self) -> String {
        format!("{}.{:07}Z", self.seconds_text(), self.0 % TICKS)
    }

    /// Formats without a zone, as a `DateTime` of unspecified kind.
    pub(crate) fn zoneless(self) -> String {
        let text = self.to_string();
        text.trim_end_matches('Z').to_owned()
    }

    /// Parses what the client parses: ISO 8601 with `T` and `Z`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_suffix('Z')?;
        let (seconds, fraction) = rest.split_once('.').unwrap_or((rest, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
        if !digits(fraction) || fraction.len() > 7 {
            return None;
        }

        let (date, time) = seconds.split_once('T')?;
        let numbers = |text: &str, split: char, lengths: [usize; 3]| {
            let parts: Vec<&str> = text.split(split).collect();
            let fits = parts.iter().map(|it| it.len()).eq(lengths);
            let numbers: Option<Vec<i64>> =
                parts.into_iter().map(|it| digits(it).then(|| it.parse().ok())?).collect();
            fits.then_some(numbers?)
        };
        let date = numbers(date, '-', [4, 2, 2])?;
        let time = numbers(time, ':', [2, 2, 2])?;

        let days = days_from_civil(date[0], date[1], date[2]);
        let seconds = days * DAY + time[0] * 3600 + time[1] * 60 + time[2];
        let fraction: i64 = format!("{fraction:0<7}").parse().ok()?;
        Some(Self(seconds * TICKS + fraction))
    }

    fn seconds_text(self) -> String {
        let seconds = self.0 / TICKS;
        let (year, month, day) = civil_from_days(seconds / DAY);
        let rest = seconds % DAY;
        let hour = rest / 3600;
        let minute = rest / 60 % 60;
        let second = rest % 60;
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
    }
}

/// Formats without trailing zeros, as in a body.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!(".{:07}", self.0 % TICKS);
        let fraction = digits.trim_end_matches('0').trim_end_matches('.');
        write!(f, "{}{fraction}Z", self.seconds_text())
    }
}

impl From<Timestamp> for Moment {
    fn from(at: Timestamp) -> Self {
        Self(BEFORE_1970 * DAY * TICKS + at.micros() * 10)
    }
}

/// Returns the days since the first of January of year 1.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let years = if month <= 2 { year - 1 } else { year };
    let era = years.div_euclid(400);
    let of_era = years.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 306
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 306;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let years = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * years + years / 4 - years / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + years + i64::from(month <= 2), month, day)
}

#[test]
fn times_are_formatted_like_the_clients() {
    assert_eq!(Moment::FIRST.exact(), "0001-01-01T00:00:00.0000000Z");
    assert_eq!(Moment::FIRST.zoneless(), "0001-01-01T00:00:00");
    for text in ["2026-08-01T09:14:02.1837744Z", "2024-02-29T23:59:59.5Z", "2000-12-31T00:00:00Z"] {
        assert_eq!(Moment::parse(text).map(|it| it.to_string()).as_deref(), Some(text));
    }
    assert_eq!(Moment::from(Timestamp::UNIX_EPOCH).to_string(), "1970-01-01T00:00:00Z");
    for text in ["2026-08-01T09:14:02", "2026-08-01 09:14:02Z", "2026-08-01T09:14:02+00:00"] {
        assert_eq!(Moment::parse(text), None, "{text}");
    }
}
