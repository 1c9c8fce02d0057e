//! Which model answers, where, and with which key.

use std::fmt;

use pia_kernel::Secret;

/// For what the assistant is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Improving a text.
    Optimize,
    /// Talking.
    Assistant,
    /// Looking into something.
    Research,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::Optimize, Self::Assistant, Self::Research];

    /// Its name in settings and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Optimize => "Optimize",
            Self::Assistant => "Assistant",
            Self::Research => "Research",
        }
    }

    /// The mode of this name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name().eq_ignore_ascii_case(name.trim()))
    }
}

/// The kind of API that an upstream speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderType {
    /// OpenAI's chat completions.
    OpenAi,
}

impl ProviderType {
    /// Its name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "OpenAI",
        }
    }
}

/// One upstream model.
#[derive(Clone)]
pub struct Target {
    /// What it speaks.
    pub provider: ProviderType,
    /// Its base URL, without a slash at the end: `https://api.openai.com/v1`.
    pub endpoint: String,
    /// The key; empty where the upstream wants none.
    pub api_key: Secret<String>,
    /// The model's id.
    pub model: String,
}

/// Without the endpoint, which may carry a password.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}
