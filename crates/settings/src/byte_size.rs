//! Amounts of memory, as operators write them.

use super::error::Reason;
use super::setting::Setting;

const UNITS: [(&str, usize); 4] = [("b", 1), ("kib", 1 << 10), ("mib", 1 << 20), ("gib", 1 << 30)];

/// Number of bytes: `1048576`, `1MiB`. `1MB` is refused, since it is ambiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub(super) struct ByteSize(pub(super) usize);

impl ByteSize {
    pub(super) const fn kib(count: usize) -> Self {
        Self(count << 10)
    }

    pub(super) const fn mib(count: usize) -> Self {
        Self(count << 20)
    }

    pub(super) const fn gib(count: usize) -> Self {
        Self(count << 30)
    }
}

impl Setting for ByteSize {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        let text = text.trim().to_ascii_lowercase();
        let end = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
        let (number, suffix) = text.split_at_checked(end).unwrap_or_default();
        let unit_name = if suffix.is_empty() { "b" } else { suffix.trim_start() };
        let unit = UNITS.iter().find(|(name, _)| *name == unit_name);
        number
            .parse::<usize>()
            .ok()
            .zip(unit)
            .and_then(|(number, (_, unit))| number.checked_mul(*unit))
            .map(Self)
            .ok_or(Reason::form("expected a number of bytes, or a size such as 256MiB"))
    }

    fn format(&self) -> String {
        let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        let unit = units.iter().find(|(_, unit)| self.0 > 0 && self.0.is_multiple_of(*unit));
        unit.map_or_else(|| self.0.to_string(), |(name, unit)| format!("{}{name}", self.0 / unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_binary_units_are_parsed() {
        for (text, bytes) in
            [("268435456", 268_435_456), ("256MiB", 268_435_456), ("1 kib", 1024), ("0b", 0)]
        {
            assert_eq!(ByteSize::parse(text), Ok(ByteSize(bytes)), "{text}");
        }
        for text in ["", "MiB", "256MB", "1.5GiB", "-1", "99999999999GiB", "1 2"] {
            assert!(ByteSize::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn equal_amounts_have_the_same_format() {
        assert_eq!(ByteSize::parse("1048576").unwrap().format(), "1MiB");
        assert_eq!(ByteSize(1025).format(), "1025");
    }
}
