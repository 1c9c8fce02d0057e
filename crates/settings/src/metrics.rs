//! `Metrics`: access to the metrics.

use pia_kernel::Secret;

use super::error::Reason;
use super::known_secrets;
use super::section::Section;
use super::setting::Setting;

const MIN_TOKEN_CHARS: usize = 16;

/// Settings of metrics.
#[derive(Debug, Clone)]
pub struct MetricsConfig {
    /// Token for remote callers; without one, only the local machine can access
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
        // It is sent in a header, which is trimmed.
        if !text.bytes().all(|it| it.is_ascii_graphic()) {
            return Err(Reason::form("expected plain letters, digits and signs without blanks"));
        }
        Ok(Self(token))
    }

    fn format(&self) -> String {
        self.0.expose().clone()
    }
}
