//! Times, numbers and sizes in the form of a language.

use chrono::{DateTime, NaiveDate, Utc};
use pia_kernel::{Language, Timestamp};

/// Formats a time to the minute: `26 Nov 2026, 09:42 UTC`.
pub(crate) fn time(language: Language, at: Timestamp) -> String {
    let at = DateTime::<Utc>::from(at);
    let pattern = match language {
        Language::En => "%-d %b %Y, %H:%M UTC",
        Language::De => "%d.%m.%Y, %H:%M UTC",
    };
    at.format(pattern).to_string()
}

/// Formats the day of a time: `26 Nov 2026`.
pub(crate) fn day(language: Language, at: Timestamp) -> String {
    date(language, DateTime::<Utc>::from(at).date_naive())
}

/// Formats a day: `26 Nov 2026`.
pub(crate) fn date(language: Language, day: NaiveDate) -> String {
    let pattern = match language {
        Language::En => "%-d %b %Y",
        Language::De => "%d.%m.%Y",
    };
    day.format(pattern).to_string()
}

/// Formats a whole number with separators: `1,234,567`.
pub(crate) fn number(language: Language, number: impl Into<i128>) -> String {
    let number: i128 = number.into();

    let separator = match language {
        Language::En => ',',
        Language::De => '.',
    };

    let digits = number.unsigned_abs().to_string();
    let mut formatted = String::from(if number < 0 { "-" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            formatted.push(separator);
        }
        formatted.push(digit);
    }

    formatted
}

/// Formats a percentage: `80%`.
pub(crate) fn percent(language: Language, percent: i64) -> String {
    let space = match language {
        Language::En => "",
        Language::De => "\u{a0}",
    };
    format!("{}{space}%", number(language, percent))
}

/// Formats a number with two decimals: `0.83`.
pub(crate) fn decimal(language: Language, number: f32) -> String {
    format!("{number:.2}").replace('.', &decimal_point(language).to_string())
}

/// Formats a duration: `850 ms`, `2.3 s`.
pub(crate) fn duration(language: Language, millis: i64) -> String {
    if millis < 1000 {
        return format!("{millis} ms");
    }

    let seconds = number(language, millis / 1000);
    format!("{seconds}{}{} s", decimal_point(language), millis % 1000 / 100)
}

/// Formats a number of bytes: `1.5 MiB`.
pub(crate) fn bytes(language: Language, bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];

    let mut unit = 0;
    let mut tenths = u128::from(bytes) * 10;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }

    let whole = number(language, i128::try_from(tenths / 10).unwrap_or(i128::MAX));
    let name = UNITS.get(unit).copied().unwrap_or_default();
    if unit == 0 {
        return format!("{whole} {name}");
    }

    format!("{whole}{}{} {name}", decimal_point(language), tenths % 10)
}

fn decimal_point(language: Language) -> char {
    match language {
        Language::En => '.',
        Language::De => ',',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_numbers_follow_the_language() {
        let at = Timestamp::from_micros(1_795_686_120_000_000);

        assert_eq!(time(Language::En, at), "26 Nov 2026, 09:42 UTC");
        assert_eq!(time(Language::De, at), "26.11.2026, 09:42 UTC");
        assert_eq!(day(Language::En, at), "26 Nov 2026");
        assert_eq!(number(Language::En, 1_234_567_i64), "1,234,567");
        assert_eq!(number(Language::De, -1234_i64), "-1.234");
        assert_eq!(number(Language::En, 999_u32), "999");
    }

    #[test]
    fn decimals_follow_the_language() {
        assert_eq!(decimal(Language::En, 0.826), "0.83");
        assert_eq!(decimal(Language::De, 0.826), "0,83");
    }

    #[test]
    fn percentages_follow_the_language() {
        assert_eq!(percent(Language::En, 1080), "1,080%");
        assert_eq!(percent(Language::De, 80), "80\u{a0}%");
    }

    #[test]
    fn durations_have_the_unit_of_their_size() {
        assert_eq!(duration(Language::En, 999), "999 ms");
        assert_eq!(duration(Language::En, 2390), "2.3 s");
        assert_eq!(duration(Language::De, 1_234_000), "1.234,0 s");
    }

    #[test]
    fn sizes_have_one_decimal() {
        for (size, expected) in
            [(0, "0 B"), (1023, "1,023 B"), (1536, "1.5 KiB"), (5 << 30, "5.0 GiB")]
        {
            assert_eq!(bytes(Language::En, size), expected);
        }
        assert_eq!(bytes(Language::De, 1536), "1,5 KiB");
    }
}
