//! `Metrics`: who may see what is measured.

use pia_kernel::Secret;

use super::fault::Reason;
use super::known_secrets;
use super::section::Section;
use super::setting::Setting;

const MIN_TOKEN_CHARS: usize = 16;

/// Settings of metrics.
#[derive(Debug, Clone)]
pub struct MetricsConfig {
    /// Token for callers from elsewhere; without one, only this machine sees
    /// `/metrics`.
    pub token: Option<Secret<String>>,
}

impl MetricsConfig {
    pub(super) fn from_section(from: &mut Section<'_>) -> Self {
        Self { token: from.reload("Token").optional::<Token>().map(|it| it.0) }
    }
}

struct Token(Secret<String>);

impl Setting for Token {
    const IS_SECRET: bool = true;

    fn parse(text: &str) -> Result<Self, Reason> {
        let token = Secret::<String>::parse(text)?;
        if text.chars().count() < MIN_TOKEN_CHARS || known_secrets::is_known(text) {
            return Err(Reason::weak("expected at least 16 random characters"));
        }
        // It travels in a header, whose ends are trimmed.
        if !text.bytes().all(|it| it.is_ascii_graphic()) {
            return Err(Reason::form("expected plain letters, digits and signs without blanks"));
        }
        Ok(Self(token))
    }

    fn format(&self) -> String {
        self.0.expose().clone()
    }
}
