//! Types of upstreams, and their consequences.

use pia_assistant::{ProviderType, ReasoningEffort};

use crate::error::Reason;
use crate::setting::{Setting, choice};

/// Type of a search provider.
const LINKUP: &str = "Linkup";

/// Type of a catalogue entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Chat(ProviderType),
    Search,
}

impl Setting for Kind {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        if text.trim().eq_ignore_ascii_case(LINKUP) {
            return Ok(Self::Search);
        }
        provider_type(text).map(Self::Chat).ok_or_else(|| unknown_type(&[LINKUP]))
    }

    fn format(&self) -> String {
        match self {
            Self::Chat(provider) => provider.format(),
            Self::Search => LINKUP.to_owned(),
        }
    }
}

impl Setting for ProviderType {
    const IS_SECRET: bool = false;

    fn parse(text: &str) -> Result<Self, Reason> {
        if text.trim().eq_ignore_ascii_case(LINKUP) {
            return Err(Reason::combination("Linkup searches the web and is no chat model"));
        }
        provider_type(text).ok_or_else(|| unknown_type(&[]))
    }

    fn format(&self) -> String {
        self.name().to_owned()
    }
}

/// Returns the type of a name, or of a number from 1 on.
fn provider_type(text: &str) -> Option<ProviderType> {
    let text = text.trim();
    (1_u8..)
        .zip(ProviderType::ALL)
        .find(|(number, it)| it.name().eq_ignore_ascii_case(text) || number.to_string() == text)
        .map(|(_, it)| it)
}

/// Returns the reason that lists the names of all types, and `further_names`.
fn unknown_type(further_names: &[&str]) -> Reason {
    let names: Vec<_> =
        ProviderType::ALL.iter().map(|it| it.name()).chain(further_names.iter().copied()).collect();
    Reason::form(format!("expected one of {}", names.join(", ")))
}

/// Returns the default endpoint of a type; `None` if it must be configured.
pub(super) fn endpoint(provider: ProviderType) -> Option<&'static str> {
    match provider {
        ProviderType::OpenAi => Some("https://api.openai.com/v1"),
        ProviderType::Ollama => Some("http://localhost:11434"),
        ProviderType::OpenRouter => Some("https://openrouter.ai/api/v1"),
        ProviderType::Mistral => Some("https://api.mistral.ai/v1"),
        ProviderType::Anthropic => Some("https://api.anthropic.com/v1"),
        ProviderType::AzureOpenAi | ProviderType::OpenAiCompatible | ProviderType::VLlm => None,
    }
}

/// Returns whether a type is on the public network by default, so that
/// addresses may be fetched from there.
pub(super) fn is_public(provider: ProviderType) -> bool {
    endpoint(provider).is_some_and(|it| it.starts_with("https://"))
}

impl Setting for ReasoningEffort {
    const IS_SECRET: bool = false;

    fn choices() -> Vec<(&'static str, Self)> {
        Self::ALL.map(|it| (it.name(), it)).into()
    }

    fn parse(text: &str) -> Result<Self, Reason> {
        choice(text)
    }

    fn format(&self) -> String {
        self.name().to_owned()
    }
}
