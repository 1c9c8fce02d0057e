//! Upstream model with its address, keys and abilities.
//!
//! The crate `settings` creates a target for each entry of the catalogue. Routing reads its
//! abilities, `credits` its rates, and the dialects of `upstream` the rest.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{Secret, named_variants};

use crate::credits::rates::{Micros, Rates};
use crate::tools::{HostedTool, UpstreamTool};

named_variants! {
    /// Purpose of a call, by which a model may be chosen, with its name in settings and
    /// on the wire.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Mode {
        /// Improvement of a text, with a template.
        Optimize = "Optimize",
        /// Conversation with a user.
        Assistant = "Assistant",
        /// Conversation that researches a topic.
        Research = "Research",
    }
}

impl Mode {
    /// Returns the mode of this name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name().eq_ignore_ascii_case(name.trim()))
    }
}

named_variants! {
    /// Type of an upstream's API, with its name in settings. The order is that of their
    /// numbers, which start at 1.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum ProviderType {
        /// OpenAI itself.
        OpenAi = "OpenAI",
        /// OpenAI's models, deployed by Azure.
        AzureOpenAi = "AzureOpenAI",
        /// Ollama, through its OpenAI-compatible API.
        Ollama = "Ollama",
        /// `OpenRouter`, which forwards calls to models of others.
        OpenRouter = "OpenRouter",
        /// Any other service with OpenAI's chat completions API.
        OpenAiCompatible = "OpenAICompatible",
        /// Mistral, which also has agents.
        Mistral = "Mistral",
        /// vLLM, through its OpenAI-compatible server.
        VLlm = "VLlm",
        /// Anthropic, through its messages API.
        Anthropic = "Anthropic",
    }
}

impl ProviderType {
    /// Returns whether it has its own web search.
    pub fn searches_the_web(self) -> bool {
        matches!(self, Self::OpenAi | Self::OpenRouter | Self::Mistral | Self::Anthropic)
    }
}

named_variants! {
    /// Effort of a model's reasoning, with its name in settings. The least is the first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum ReasoningEffort {
        /// No reasoning.
        None = "None",
        /// Minimum of reasoning.
        Minimal = "Minimal",
        /// Little reasoning.
        Low = "Low",
        /// Moderate reasoning.
        Medium = "Medium",
        /// Much reasoning.
        High = "High",
        /// Maximum of reasoning.
        XHigh = "XHigh",
    }
}

impl ReasoningEffort {
    /// Returns the effort of this name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name().eq_ignore_ascii_case(name.trim()))
    }
}

/// Limits on the calls of one catalogue entry, shared by all callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Protection {
    /// Maximum of calls that start within a minute.
    pub requests_per_minute: Option<u32>,
    /// Maximum of prompt and completion tokens within a minute.
    pub tokens_per_minute: Option<u32>,
    /// Maximum of calls that are open at once.
    pub concurrent: Option<u32>,
}

/// Treatment of addresses in requests, such as those of pictures. The upstream
/// fetches them, and one in our own network would do so from there: an address
/// does not reveal where a public name or a redirect leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addresses {
    /// Addresses are passed on.
    PassedOn,
    /// Requests with addresses are refused.
    Refused,
}

/// Upstream model with its endpoint, keys and settings.
#[derive(Clone)]
pub struct Target {
    /// Id of its catalogue entry; `None` for models of `Ai` and `Ai:Modes`
    /// themselves.
    pub id: Option<String>,
    /// Display name; the id or model is used without one.
    pub name: Option<String>,
    /// Type of its API.
    pub provider: ProviderType,
    /// Base URL, without a slash at the end: `https://api.openai.com/v1`.
    pub endpoint: String,
    /// Interchangeable keys; empty if the upstream requires none.
    pub keys: Vec<Secret<String>>,
    /// Id of the model.
    pub model: String,
    /// Name of Azure's deployment; `None` for other providers.
    pub deployment: Option<String>,
    /// API version of Azure: `2024-10-21`.
    pub api_version: Option<String>,
    /// Mistral's agent that replaces the model.
    pub agent: Option<String>,
    /// Reasoning effort of calls that request none.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Set if a compatible upstream supports `reasoning_effort`.
    pub takes_reasoning_effort: bool,
    /// Parameters of [`SAMPLING`] that the model refuses.
    pub unsupported: Vec<&'static str>,
    /// Set if it is to use its own web search.
    pub web_search: bool,
    /// Set if it accepts pictures.
    pub vision: bool,
    /// Treatment of addresses in requests.
    pub addresses: Addresses,
    /// Types of tools that its upstream may run for requests.
    pub upstream_tools: Vec<UpstreamTool>,
    /// Catalogue entry that searches the web for it.
    pub web_search_tool: Option<String>,
    /// Catalogue entry that describes pictures for it.
    pub vision_tool: Option<String>,
    /// Catalogue entries of its fallbacks, in order.
    pub fallbacks: Vec<String>,
    /// Rates of its tokens.
    pub rates: Rates,
    /// Limits on its calls.
    pub protection: Protection,
}

/// Model whose calls have a timeout of their own.
#[derive(Debug, Clone)]
pub struct TimedTarget {
    /// Model to call, within the timeout.
    pub target: Arc<Target>,
    /// Timeout of a call.
    pub timeout: Duration,
}

/// Sampling parameters, which some models refuse.
pub const SAMPLING: [&str; 3] = ["temperature", "top_p", "top_k"];

impl Target {
    /// Returns a key of the model at its endpoint, by which findings about it
    /// are shared by all its entries: provider, endpoint, and deployment or model.
    pub fn model_key(&self) -> String {
        let model = self.deployment.as_deref().unwrap_or(&self.model);
        format!("{} {} {model}", self.provider.name(), self.endpoint)
    }

    /// Creates a model with defaults.
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

    /// Returns whether addresses may be passed on to the model.
    pub(crate) fn fetches(&self) -> bool {
        self.addresses == Addresses::PassedOn
    }

    /// Returns whether its upstream may run such a tool.
    pub(crate) fn runs(&self, tool: &HostedTool) -> bool {
        self.upstream_tools.iter().any(|it| it.kind == tool.kind)
    }

    /// Returns the fee of a call with these tools, besides its tokens.
    pub(crate) fn fee(&self, tools: &[HostedTool]) -> Micros {
        tools
            .iter()
            .filter_map(|tool| self.upstream_tools.iter().find(|it| it.kind == tool.kind))
            .map(|it| it.price)
            .fold(Micros(0), Micros::plus)
    }

    /// Returns the target with an additional key.
    #[must_use]
    pub fn with_key(mut self, key: &str) -> Self {
        self.keys.push(Secret::new(key.to_owned()));
        self
    }
}

/// Omits the endpoint, which may contain a password.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("id", &self.id)
            .field("provider", &self.provider)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}
