//! `CreditRates`: prices of tokens.

use pia_assistant::{Micros, Rates};

use crate::error::Reason;
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
        // A blank text is refused: an operator who means 0 must set it.
        let mut price = |name| from.field(name, effect).optional_or_blank::<Price>();
        Self {
            input: price(INPUT),
            output: price(OUTPUT),
            cached_input: price(CACHED),
            connector: price(CONNECTOR),
        }
    }

    pub(super) fn is_configured(&self) -> bool {
        let Self { input, output, cached_input, connector } = self;
        [input, output, cached_input, connector].into_iter().any(Option::is_some)
    }

    /// Warns of every price of a provider without tokens.
    pub(super) fn warn_unused(&self, from: &mut Section<'_>) {
        let mut from = from.section(SECTION);
        for (name, is_configured) in [
            (INPUT, self.input.is_some()),
            (OUTPUT, self.output.is_some()),
            (CACHED, self.cached_input.is_some()),
            (CONNECTOR, self.connector.is_some()),
        ] {
            if is_configured {
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
    /// Returns all four rates; `None` if a cached token would cost more than a
    /// fresh one. The default of a cached token is limited to the price of a fresh
    /// one.
    pub(super) fn rates(self, from: &mut Section<'_>) -> Option<Rates> {
        let default = Rates::default();
        let input = self.input.map_or(default.input, |it| it.0);
        let cached_input = self.cached_input.map_or(default.cached_input.min(input), |it| it.0);
        if cached_input > input {
            let reason = Reason::combination("expected no more than InputPerMillion");
            from.section(SECTION).refuse(CACHED, reason);
            return None;
        }
        let output = self.output.map_or(default.output, |it| it.0);
        let connector = self.connector.map_or(default.connector, |it| it.0);
        Some(Rates { input, output, cached_input, connector })
    }
}

/// Price of a million tokens or of a call, in thousandths of a credit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Price(u64);

impl Price {
    const MAX_PRICE: u64 = 10_000_000_000;

    /// Returns the price as an amount of credits.
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
        let integer = self.0 / 1000;
        let fraction = self.0 % 1000;
        if fraction == 0 {
            return integer.to_string();
        }
        format!("{integer}.{fraction:03}").trim_end_matches('0').to_owned()
    }
}

/// Parses a decimal number with an optional exponent into thousandths, rounded
/// half up. `None` if it is invalid or out of range.
fn thousandths(text: &str) -> Option<u64> {
    let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (integer, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let unsigned_exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let is_number = [integer, fraction, unsigned_exponent]
        .iter()
        .all(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()));
    if !is_number || text.len() > MAX_PRICE_CHARS {
        return None;
    }

    // The maximum length prevents overflows.
    let number: u128 = format!("{integer}{fraction}").parse().ok()?;
    let exponent: i32 = exponent.parse().ok()?;
    let decimals = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?.checked_sub(3)?;
    let power = |exponent: i32| 10_u128.checked_pow(u32::try_from(exponent).ok()?);
    if decimals <= 0 {
        let thousandths = if number == 0 { 0 } else { number.checked_mul(power(-decimals)?)? };
        return u64::try_from(thousandths).ok().filter(|it| *it <= Price::MAX_PRICE);
    }
    // The number is too small to be represented.
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
        for (text, thousandths, formatted) in [
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
            assert_eq!(price.0, thousandths, "{text}");
            assert_eq!(price.format(), formatted, "{text}");
        }
    }

    #[test]
    fn invalid_prices_are_rejected() {
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
