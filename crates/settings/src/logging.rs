//! `Logging`: level and format of the log.

use tracing_subscriber::EnvFilter;

use super::error::Reason;
use super::section::Section;
use super::setting::{Setting, choice};

/// Level and format of the log.
#[derive(Debug, Clone)]
pub struct Logging {
    /// Minimum level, in the syntax of `tracing` filters.
    pub level: String,
    /// Format of log lines.
    pub format: LogFormat,
}

/// Format of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Text, for people.
    Text,
    /// JSON, one object per line, for programs.
    Json,
}

impl Logging {
    pub(super) fn from_section(from: &mut Section<'_>) -> Self {
        let is_development = from.environment().is_development();
        let default_format = if is_development { LogFormat::Text } else { LogFormat::Json };
        Self {
            level: from.reload("Level").or(Level("info".to_owned())).0,
            format: from.restart("Format").or(default_format),
        }
    }
}

struct Level(String);

impl Setting for Level {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        let level = String::parse(text)?;
        EnvFilter::try_new(&level).map_err(|_err| {
            Reason::form("expected a level or a filter such as info,pia_server=debug")
        })?;
        Ok(Self(level))
    }

    fn format(&self) -> String {
        self.0.clone()
    }
}

impl Setting for LogFormat {
    const IS_SECRET: bool = false;

    fn choices() -> Vec<(&'static str, Self)> {
        vec![("text", Self::Text), ("json", Self::Json)]
    }

    fn parse(text: &str) -> Result<Self, Reason> {
        choice(text)
    }

    fn format(&self) -> String {
        let name = match self {
            Self::Text => "text",
            Self::Json => "json",
        };
        name.to_owned()
    }
}
