//! Types of upstreams, and their consequences.

use pia_assistant::{ProviderType, ReasoningEffort};

use crate::fault::Reason;
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
        let chat = numbered(text).map(Self::Chat);
        chat.ok_or_else(|| expected(&[LINKUP]))
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
        numbered(text).ok_or_else(|| expected(&[]))
    }

    fn format(&self) -> String {
        self.name().to_owned()
    }
}

/// Returns the type of a name or a number.
fn numbered(text: &str) -> Option<ProviderType> {
    let text = text.trim();
    let mut numbered = (1_u8..).zip(ProviderType::ALL);
    let entry = numbered
        .find(|(number, it)| it.name().eq_ignore_ascii_case(text) || number.to_string() == text);
    entry.map(|(_, it)| it)
}

fn expected(others: &[&str]) -> Reason {
    let names = ProviderType::ALL.iter().map(|it| it.name());
    let names: Vec<_> = names.chain(others.iter().copied()).collect();
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

    fn parse(text: &str) -> Result<Self, Reason> {
        choice(text, &Self::ALL.map(|it| (it.name(), it)))
    }

    fn format(&self) -> String {
        self.name().to_owned()
    }
}
