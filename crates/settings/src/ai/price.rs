//! `CreditRates`: what tokens cost.

use pia_assistant::{Micros, Rates};

use crate::fault::Reason;
use crate::section::Section;
use crate::setting::Setting;
use crate::snapshot::Effect;

const SECTION: &str = "CreditRates";
const INPUT: &str = "InputPerMillion";
const OUTPUT: &str = "OutputPerMillion";
const CACHED: &str = "CachedInputPerMillion";
const CONNECTOR: &str = "ConnectorPerMillion";

/// Settings of rates in one section.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Prices {
    input: Option<Price>,
    output: Option<Price>,
    cached_input: Option<Price>,
    connector: Option<Price>,
}

impl Prices {
    pub(super) fn from_section(from: &mut Section<'_>, effect: Effect) -> Self {
        let mut from = from.section(SECTION);
        // A blank text is refused: an operator who means 0 says so.
        let mut price = |name| from.field(name, effect).optional_or_blank::<Price>();
        Self {
            input: price(INPUT),
            output: price(OUTPUT),
            cached_input: price(CACHED),
            connector: price(CONNECTOR),
        }
    }

    pub(super) fn is_granted(&self) -> bool {
        let Self { input, output, cached_input, connector } = self;
        [input, output, cached_input, connector].into_iter().any(Option::is_some)
    }

    /// Reports of each price of what takes no tokens.
    pub(super) fn mention_idle(&self, from: &mut Section<'_>) {
        let mut from = from.section(SECTION);
        for (name, input) in [
            (INPUT, self.input.is_some()),
            (OUTPUT, self.output.is_some()),
            (CACHED, self.cached_input.is_some()),
            (CONNECTOR, self.connector.is_some()),
        ] {
            if input {
                from.warn(name, "has no effect with the type Linkup, which takes no tokens");
            }
        }
    }

    pub(super) fn over(self, default: Self) -> Self {
        Self {
            input: self.input.or(default.input),
            output: self.output.or(default.output),
            cached_input: self.cached_input.or(default.cached_input),
            connector: self.connector.or(default.connector),
        }
    }

    /// All four; nothing where a cached token would cost more than a fresh
    /// one. If nobody says what it costs, it costs no more than that.
    pub(super) fn rates(self, from: &mut Section<'_>) -> Option<Rates> {
        let usual = Rates::default();
        let input = self.input.map_or(usual.input, |it| it.0);
        let cached_input = self.cached_input.map_or(usual.cached_input.min(input), |it| it.0);
        if cached_input > input {
            let reason = Reason::combination("expected no more than InputPerMillion");
            from.section(SECTION).refuse(CACHED, reason);
            return None;
        }
        let output = self.output.map_or(usual.output, |it| it.0);
        let connector = self.connector.map_or(usual.connector, |it| it.0);
        Some(Rates { input, output, cached_input, connector })
    }
}

/// Credits, for a million tokens or a call, in thousandths of a credit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Price(u64);

impl Price {
    const MAX_PRICE: u64 = 10_000_000_000;

    /// Parses an amount of credits that is not per million.
    pub(super) fn credits(self) -> Micros {
        Micros(i64::try_from(self.0.saturating_mul(1000)).unwrap_or(i64::MAX))
    }
}

/// Maximum length of a price, in characters.
const MAX_PRICE_CHARS: usize = 36;

impl Setting for Price {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        let form = || Reason::form("expected a number from 0 to 10000000");
        thousandths(text.trim()).map(Self).ok_or_else(form)
    }

    fn format(&self) -> String {
        let (whole, part) = (self.0 / 1000, self.0 % 1000);
        if part == 0 {
            return whole.to_string();
        }
        format!("{whole}.{part:03}").trim_end_matches('0').to_owned()
    }
}

/// The thousandths of a number that is written with digits, maybe a point, and
/// maybe an exponent; halves of them are rounded up. Nothing for what is no such
/// number, or out of the range.
fn thousandths(text: &str) -> Option<u64> {
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if !digits(whole) || !digits(part) || !digits(unsigned) || text.len() > MAX_PRICE_CHARS {
        return None;
    }
    // As long as it may be, nothing of this overflows.
    let number: u128 = format!("{whole}{part}").parse().ok()?;
    let exponent: i32 = exponent.parse().ok()?;
    let decimals = i32::try_from(part.len()).ok()?.checked_sub(exponent)?.checked_sub(3)?;
    let power = |of: i32| 10_u128.checked_pow(u32::try_from(of).ok()?);
    if decimals <= 0 {
        let thousandths = if number == 0 { 0 } else { number.checked_mul(power(-decimals)?)? };
        return u64::try_from(thousandths).ok().filter(|it| *it <= Price::MAX_PRICE);
    }
    // So small that nothing is left of it.
    let Some(divisor) = power(decimals) else { return Some(0) };
    if number > divisor.saturating_mul(Price::MAX_PRICE.into()) {
        return None;
    }
    u64::try_from((number + divisor / 2) / divisor).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_stored_in_thousandths() {
        for (text, thousandths, reported) in [
            ("0", 0, "0"),
            (" 1000 ", 1_000_000, "1000"),
            ("0.001", 1, "0.001"),
            ("2.5", 2500, "2.5"),
            ("10000000", 10_000_000_000, "10000000"),
            ("10000000.000", 10_000_000_000, "10000000"),
            ("0007", 7000, "7"),
            ("1e3", 1_000_000, "1000"),
            ("1.5E-2", 15, "0.015"),
            ("1E+7", 10_000_000_000, "10000000"),
            ("0.00001e7", 100_000, "100"),
            ("1.2345", 1235, "1.235"),
            ("1.23449999", 1234, "1.234"),
            ("0.0004", 0, "0"),
            ("0.0005", 1, "0.001"),
            ("1e-99", 0, "0"),
            ("0e99", 0, "0"),
            ("9999999.9999", 10_000_000_000, "10000000"),
        ] {
            let price = Price::parse(text).unwrap();

            assert_eq!((price.0, price.format().as_str()), (thousandths, reported), "{text}");
        }
    }

    #[test]
    fn what_is_no_price_is_refused() {
        for text in [
            "",
            " ",
            "-1",
            "+1",
            "1,5",
            "1.",
            ".5",
            "1e",
            "e3",
            "1e3.5",
            "1e--3",
            "1e8",
            "1e99",
            "1e99999999999",
            "0x10",
            "10000000.001",
            "10000000.0001",
            "10000001",
            "99999999999999999999",
            "NaN",
        ] {
            assert!(Price::parse(text).is_err(), "{text}");
        }
    }
}
