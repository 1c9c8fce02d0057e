//! Decimal numbers from 0 to 1.

use super::error::Reason;
use super::setting::Setting;

/// Decimal number from 0 to 1.
pub(super) struct Ratio(pub(super) f32);

impl Setting for Ratio {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        text.trim()
            .parse::<f32>()
            .ok()
            .filter(|it| (0.0..=1.0).contains(it))
            .map(Self)
            .ok_or(Reason::form("expected a number from 0 to 1 such as 0.4"))
    }

    fn format(&self) -> String {
        self.0.to_string()
    }
}
