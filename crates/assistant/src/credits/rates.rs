//! Token rates and amounts of credits.
//!
//! A rate times a number of tokens is in thousandths of a `Micros`, so prices are summed in
//! that unit and rounded up once. Sums saturate and never wrap around.

use crate::credits::usage::Usage;

/// Credits for a million tokens of each kind, in thousandths of a credit: the
/// rate 1000 of the settings, one credit for a thousand tokens, is 1,000,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// Price of prompt tokens that no cache had.
    pub input: u64,
    /// Price of completion tokens, reasoning included.
    pub output: u64,
    /// Price of prompt tokens read from a cache; at most `input`.
    pub cached_input: u64,
    /// Price of tokens that the provider's own tools add to the conversation.
    pub connector: u64,
}

impl Default for Rates {
    fn default() -> Self {
        Self { input: 1_000_000, output: 1_000_000, cached_input: 1_000_000, connector: 0 }
    }
}

/// Millionths of a credit, the unit of stored sums: amounts are rounded only
/// for display.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Micros(pub i64);

impl Micros {
    /// Returns whole credits in millionths, saturating.
    pub fn credits(credits: i64) -> Self {
        Self(credits.saturating_mul(1_000_000))
    }

    /// Returns the sum, saturating.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns the difference, saturating.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns whole credits, rounded up.
    pub fn rounded_up(self) -> i64 {
        self.0.div_euclid(1_000_000) + i64::from(self.0.rem_euclid(1_000_000) > 0)
    }

    /// Returns whole credits, rounded down.
    pub fn rounded_down(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }
}

impl Rates {
    /// Returns the higher rate for each kind of token: the maximum for a call
    /// that either model may answer.
    #[must_use]
    pub fn highest(self, other: Self) -> Self {
        Self {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            cached_input: self.cached_input.max(other.cached_input),
            connector: self.connector.max(other.connector),
        }
    }

    /// Returns the price of the hidden tokens, which are known only at the end:
    /// no cap limits them reliably, and no caller sees them.
    pub(crate) fn price_of_hidden(&self, usage: &Usage) -> Micros {
        let output = usage.reasoning.min(usage.output);
        self.price(&Usage { output, connector: usage.connector, ..Usage::default() })
    }

    /// Returns the price of these tokens, rounded up to a millionth of a
    /// credit.
    pub fn price(&self, usage: &Usage) -> Micros {
        let cached_tokens = usage.cached_input.min(usage.input);
        let lines = [
            (usage.input - cached_tokens, self.input),
            (cached_tokens, self.cached_input),
            (usage.output, self.output),
            (usage.connector, self.connector),
        ];

        // A token at a rate of one thousandth a million is a thousandth of a
        // millionth.
        let thousandths: i128 = lines
            .into_iter()
            .map(|(tokens, rate)| i128::from(tokens.max(0)) * i128::from(rate))
            .sum();
        let micros = thousandths.div_euclid(1000) + i128::from(thousandths.rem_euclid(1000) > 0);

        Micros(i64::try_from(micros).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_tokens_are_a_credit_by_default() {
        let usage =
            Usage { input: 700, cached_input: 200, output: 300, connector: 5000, reasoning: 0 };

        assert_eq!(Rates::default().price(&usage), Micros::credits(1));
    }

    #[test]
    fn each_kind_of_token_has_its_rate() {
        let rates =
            Rates { input: 3_000_000, output: 15_000_000, cached_input: 300_000, connector: 1 };
        let usage =
            Usage { input: 1000, cached_input: 400, output: 10, connector: 1, reasoning: 0 };

        // 600 x 3 + 400 x 0.3 + 10 x 15 thousandths of a credit, and a trace.
        assert_eq!(rates.price(&usage), Micros(1_800_000 + 120_000 + 150_000 + 1));
    }

    #[test]
    fn no_sum_overflows() {
        let rates = Rates { input: 10_000_000_000, ..Rates::default() };
        let usage = Usage { input: i64::MAX, ..Usage::default() };

        assert_eq!(rates.price(&usage), Micros(i64::MAX));
    }

    #[test]
    fn credits_are_rounded_up_or_down() {
        assert_eq!(Micros(1).rounded_up(), 1);
        assert_eq!(Micros(1).rounded_down(), 0);
        assert_eq!(Micros(-1).rounded_up(), 0);
        assert_eq!(Micros(-1).rounded_down(), -1);
        assert_eq!(Micros(2_000_000).rounded_up(), 2);
    }
}
