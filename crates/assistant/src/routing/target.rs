//! Model that answers, with its address, keys and abilities.

use std::fmt;

use pia_kernel::Secret;

use crate::credits::rates::{Micros, Rates};
use crate::tools::{HostedTool, UpstreamTool};

/// For what the assistant is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

    /// Name in settings and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Optimize => "Optimize",
            Self::Assistant => "Assistant",
            Self::Research => "Research",
        }
    }

    /// The mode of this name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name().eq_ignore_ascii_case(name.trim()))
    }
}

/// The kind of API that an upstream speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProviderType {
    /// OpenAI's chat completions.
    OpenAi,
    /// OpenAI's models as Azure deploys them.
    AzureOpenAi,
    /// Ollama.
    Ollama,
    /// `OpenRouter`.
    OpenRouter,
    /// Any other service with OpenAI's chat completions API.
    OpenAiCompatible,
    /// Mistral.
    Mistral,
    /// vLLM.
    VLlm,
    /// Anthropic's messages.
    Anthropic,
}

impl ProviderType {
    /// Every type, in the order of their numbers, which begin with 1.
    pub const ALL: [Self; 8] = [
        Self::OpenAi,
        Self::AzureOpenAi,
        Self::Ollama,
        Self::OpenRouter,
        Self::OpenAiCompatible,
        Self::Mistral,
        Self::VLlm,
        Self::Anthropic,
    ];

    /// Name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "OpenAI",
            Self::AzureOpenAi => "AzureOpenAI",
            Self::Ollama => "Ollama",
            Self::OpenRouter => "OpenRouter",
            Self::OpenAiCompatible => "OpenAICompatible",
            Self::Mistral => "Mistral",
            Self::VLlm => "VLlm",
            Self::Anthropic => "Anthropic",
        }
    }

    /// Returns whether it can search the web by itself.
    pub fn searches_the_web(self) -> bool {
        matches!(self, Self::OpenAi | Self::OpenRouter | Self::Mistral | Self::Anthropic)
    }
}

/// Effort of a model's reasoning before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReasoningEffort {
    /// No reasoning.
    None,
    /// Least reasoning.
    Minimal,
    /// A little.
    Low,
    /// Neither little nor much.
    Medium,
    /// Much.
    High,
    /// Most reasoning.
    XHigh,
}

impl ReasoningEffort {
    /// Every effort, the least first.
    pub const ALL: [Self; 6] =
        [Self::None, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::XHigh];

    /// Name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Minimal => "Minimal",
            Self::Low => "Low",
            Self::Medium => "Medium",
            Self::High => "High",
            Self::XHigh => "XHigh",
        }
    }

    /// The effort of this name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name().eq_ignore_ascii_case(name.trim()))
    }
}

/// Limits on the calls of one catalogue entry, shared by everybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Protection {
    /// Calls that begin within a minute.
    pub requests_per_minute: Option<u32>,
    /// Tokens, those of the prompt and the answer, within a minute.
    pub tokens_per_minute: Option<u32>,
    /// Calls that are open at once.
    pub concurrent: Option<u32>,
}

/// Treatment of addresses of pictures and the like. Whoever receives one
/// fetches it, and an upstream in our own network would fetch from there: the
/// address does not tell where a public name or a redirect leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addresses {
    /// Images are passed on.
    PassedOn,
    /// A request that has some is refused.
    Refused,
}

/// Upstream model.
#[derive(Clone)]
pub struct Target {
    /// The id of its catalogue entry; nothing for what `Ai` and `Ai:Modes` say
    /// themselves.
    pub id: Option<String>,
    /// Display name; its id or model where it has none.
    pub name: Option<String>,
    /// API that it speaks.
    pub provider: ProviderType,
    /// Base URL, without a slash at the end: `https://api.openai.com/v1`.
    pub endpoint: String,
    /// The keys, each as good as the other; none where the upstream wants none.
    pub keys: Vec<Secret<String>>,
    /// The model's id.
    pub model: String,
    /// Azure's name of the model's deployment.
    pub deployment: Option<String>,
    /// API version of Azure: `2024-10-21`.
    pub api_version: Option<String>,
    /// The agent that answers at Mistral in the model's place.
    pub agent: Option<String>,
    /// Reasoning effort where a request has none.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// True if a compatible upstream understands `reasoning_effort`.
    pub takes_reasoning_effort: bool,
    /// Parameters of [`SAMPLING`] that the model refuses.
    pub unsupported: Vec<&'static str>,
    /// True if it is to search the web by itself.
    pub web_search: bool,
    /// True if it can look at pictures.
    pub vision: bool,
    /// Treatment of addresses within networks.
    pub addresses: Addresses,
    /// The types of tools that requests may have its upstream run.
    pub upstream_tools: Vec<UpstreamTool>,
    /// The catalogue entry that searches the web for it.
    pub web_search_tool: Option<String>,
    /// The catalogue entry that looks at pictures for it.
    pub vision_tool: Option<String>,
    /// The catalogue entries that answer in its place, in this order, when it
    /// cannot.
    pub fallbacks: Vec<String>,
    /// Rates of its tokens.
    pub rates: Rates,
    /// Limits on its calls.
    pub protection: Protection,
}

/// The parameters by which a request says how to sample, which some models
/// refuse.
pub const SAMPLING: [&str; 3] = ["temperature", "top_p", "top_k"];

impl Target {
    /// Names the model wherever it is called, so that what is learnt of it is
    /// known for all its entries.
    pub fn place(&self) -> String {
        let model = self.deployment.as_deref().unwrap_or(&self.model);
        format!("{} {} {model}", self.provider.name(), self.endpoint)
    }

    /// A model of which nothing is known but where it is.
    pub fn new(provider: ProviderType, endpoint: &str, model: &str) -> Self {
        Self {
            id: None,
            name: None,
            provider,
            endpoint: endpoint.to_owned(),
            keys: Vec::new(),
            model: model.to_owned(),
            deployment: None,
            api_version: None,
            agent: None,
            reasoning_effort: None,
            takes_reasoning_effort: false,
            unsupported: Vec::new(),
            web_search: false,
            vision: true,
            addresses: Addresses::Refused,
            upstream_tools: Vec::new(),
            web_search_tool: None,
            vision_tool: None,
            fallbacks: Vec::new(),
            rates: Rates::default(),
            protection: Protection::default(),
        }
    }

    /// Returns whether it may be given addresses within networks.
    pub(crate) fn fetches(&self) -> bool {
        self.addresses == Addresses::PassedOn
    }

    /// Reports whether its upstream may run such a tool.
    pub(crate) fn runs(&self, tool: &HostedTool) -> bool {
        self.upstream_tools.iter().any(|it| it.kind == tool.kind)
    }

    /// Returns the fee of a call with these tools, besides its tokens.
    pub(crate) fn fee(&self, tools: &[HostedTool]) -> Micros {
        let price = |tool: &HostedTool| self.upstream_tools.iter().find(|it| it.kind == tool.kind);
        let prices = tools.iter().filter_map(price).map(|it| it.price);
        prices.fold(Micros(0), Micros::plus)
    }

    /// Returns the target with this key.
    #[must_use]
    pub fn with_key(mut self, key: &str) -> Self {
        self.keys.push(Secret::new(key.to_owned()));
        self
    }
}

/// Without the endpoint, which may carry a password.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("id", &self.id)
            .field("provider", &self.provider)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}
