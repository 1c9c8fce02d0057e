//! Settings of a model in one section.
//!
//! `from_section` reads them, `over` completes a mode's from those of `Ai`,
//! `is_sound` and the `warn_unused…` functions compare them with the type of the
//! upstream, and `target` builds the `Target` that the assistant calls. `None` means
//! not configured throughout, so that `over` can tell it from an explicit value.

use pia_assistant::{
    Addresses, Protection, ProviderType, Rates, ReasoningEffort, Target, UpstreamTool,
};
use pia_kernel::Secret;

use super::identifier::{ApiKey, ApiVersion, EntryId};
use super::kind;
use super::price::Prices;
use super::sampling::unsupported;
use super::upstream_tool::upstream_tools;
use crate::base_url::BaseUrl;
use crate::error::{Code, Reason};
use crate::section::Section;
use crate::snapshot::Effect;

/// Default version of Azure's API: the last dated one that is not a preview.
const AZURE_API: &str = "2024-10-21";

/// Model, as configured by one section.
#[derive(Clone, Default)]
pub(super) struct Model {
    pub(super) provider: Option<ProviderType>,
    /// `None` if not configured; empty if explicitly without keys.
    keys: Option<Vec<Secret<String>>>,
    pub(super) name: Option<String>,
    pub(super) endpoint: Option<BaseUrl>,
    deployment: Option<String>,
    api_version: Option<String>,
    agent: Option<String>,
    effort: Option<ReasoningEffort>,
    takes_effort: Option<bool>,
    web_search: Option<bool>,
    vision: Option<bool>,
    addresses: Option<bool>,
    upstream_tools: Vec<UpstreamTool>,
    unsupported: Vec<&'static str>,
    pub(super) web_search_tool: Option<String>,
    pub(super) vision_tool: Option<String>,
    pub(super) fallbacks: Vec<String>,
    prices: Prices,
    pub(super) protection: Protection,
}

impl Model {
    /// Reads all settings of a chat model from `Ai` or a mode.
    pub(super) fn of_chat(from: &mut Section<'_>, effect: Effect) -> Self {
        let provider = from.field("ProviderType", effect).optional();
        let model = Self { provider, ..Self::from_section(from, effect) };
        model.warn_unused(from);
        model
    }

    /// Reads all settings except for the type.
    pub(super) fn from_section(from: &mut Section<'_>, effect: Effect) -> Self {
        let id = |from: &mut Section<'_>, name| {
            from.field(name, effect).optional::<EntryId>().map(|it| it.0)
        };

        Self {
            provider: None,
            keys: keys(from, effect),
            name: from.field("Model", effect).optional(),
            endpoint: from.field("Endpoint", effect).optional(),
            deployment: from.field("AzureDeploymentName", effect).optional(),
            api_version: from
                .field("AzureApiVersion", effect)
                .optional::<ApiVersion>()
                .map(|it| it.0),
            agent: from.field("MistralAgentId", effect).optional(),
            effort: from.field("ReasoningEffort", effect).optional(),
            takes_effort: from.field("SupportsReasoningEffort", effect).optional(),
            web_search: from.field("EnableWebSearch", effect).optional(),
            vision: from.field("EnableVision", effect).optional(),
            addresses: from.field("EnableAddresses", effect).optional(),
            upstream_tools: upstream_tools(from, effect),
            unsupported: unsupported(from, effect),
            web_search_tool: id(from, "WebSearchToolProviderId"),
            vision_tool: id(from, "VisionToolProviderId"),
            fallbacks: fallbacks(from, effect),
            prices: Prices::from_section(from, effect),
            protection: protection(&mut from.section("Protection"), effect),
        }
    }

    pub(super) fn is_configured(&self) -> bool {
        let texts = [&self.name, &self.deployment, &self.api_version, &self.agent];
        let tools = [&self.web_search_tool, &self.vision_tool];
        let switches = [self.takes_effort, self.web_search, self.vision, self.addresses];
        self.provider.is_some()
            || self.keys.is_some()
            || self.endpoint.is_some()
            || self.effort.is_some()
            || texts.into_iter().chain(tools).any(Option::is_some)
            || switches.iter().any(Option::is_some)
            || !self.upstream_tools.is_empty()
            || !self.unsupported.is_empty()
            || !self.fallbacks.is_empty()
            || self.prices.is_configured()
            || self.protection != Protection::default()
    }

    /// Completes this section from `default`.
    pub(super) fn over(self, default: &Self, from: &mut Section<'_>) -> Self {
        let default = default.clone();
        let is_other_type = self.provider.is_some_and(|it| it != default.provider());
        if is_other_type && self.endpoint.is_none() && default.endpoint.is_some() {
            from.warn("ProviderType", "is another than that of Ai, whose Endpoint is used");
        }

        let limits = self.protection;
        let default_limits = default.protection;
        Self {
            provider: self.provider.or(default.provider),
            keys: self.keys.or(default.keys),
            name: self.name.or(default.name),
            endpoint: self.endpoint.or(default.endpoint),
            deployment: self.deployment.or(default.deployment),
            api_version: self.api_version.or(default.api_version),
            agent: self.agent.or(default.agent),
            effort: self.effort.or(default.effort),
            takes_effort: self.takes_effort.or(default.takes_effort),
            web_search: self.web_search.or(default.web_search),
            vision: self.vision.or(default.vision),
            addresses: self.addresses.or(default.addresses),
            upstream_tools: if self.upstream_tools.is_empty() {
                default.upstream_tools
            } else {
                self.upstream_tools
            },
            unsupported: if self.unsupported.is_empty() {
                default.unsupported
            } else {
                self.unsupported
            },
            web_search_tool: self.web_search_tool.or(default.web_search_tool),
            vision_tool: self.vision_tool.or(default.vision_tool),
            fallbacks: if self.fallbacks.is_empty() { default.fallbacks } else { self.fallbacks },
            prices: self.prices.over(default.prices),
            protection: Protection {
                requests_per_minute: limits
                    .requests_per_minute
                    .or(default_limits.requests_per_minute),
                tokens_per_minute: limits.tokens_per_minute.or(default_limits.tokens_per_minute),
                concurrent: limits.concurrent.or(default_limits.concurrent),
            },
        }
    }

    pub(super) fn provider(&self) -> ProviderType {
        self.provider.unwrap_or(ProviderType::OpenAi)
    }

    /// Returns whether vision is turned off.
    pub(super) fn is_blind(&self) -> bool {
        self.vision == Some(false)
    }

    /// Returns whether a model is named: Azure's deployments and Mistral's
    /// agents have a model of their own.
    pub(super) fn is_named(&self) -> bool {
        self.name.is_some() || self.own_name().is_some()
    }

    /// Returns whether the model has a key, or an endpoint that may need none.
    pub(super) fn is_reachable(&self) -> bool {
        let needs_no_key = self.provider() == ProviderType::Ollama && self.name.is_some();
        needs_no_key || self.has_key() || self.endpoint.is_some()
    }

    pub(super) fn has_key(&self) -> bool {
        self.keys.as_ref().is_some_and(|it| !it.is_empty())
    }

    pub(super) fn keys(&self) -> Vec<Secret<String>> {
        self.keys.clone().unwrap_or_default()
    }

    pub(super) fn rates(&self, from: &mut Section<'_>) -> Option<Rates> {
        self.prices.rates(from)
    }

    /// Returns whether the settings that its type requires are present; reports
    /// those that are missing.
    pub(super) fn is_sound(&self, from: &mut Section<'_>) -> bool {
        let provider = self.provider();
        let mut is_sound = true;
        let mut report_missing = |name: &str, meaning: &str| {
            let text = format!("is missing: the type {} needs {meaning}", provider.name());
            if !from.refused(name) {
                from.refuse(name, Reason::new(Code::Missing, text));
            }
            is_sound = false;
        };

        if self.endpoint.is_none() && kind::endpoint(provider).is_none() {
            report_missing("Endpoint", "the base URL of its server");
        }

        if provider == ProviderType::AzureOpenAi && self.deployment.is_none() {
            report_missing("AzureDeploymentName", "the name of the deployment");
        }

        is_sound
    }

    /// Builds the model; `None` if a setting is missing, which is reported.
    pub(super) fn target(self, rates: Rates, from: &mut Section<'_>) -> Option<Target> {
        if !self.is_sound(from) {
            return None;
        }

        let provider = self.provider();
        let endpoint_setting = self.endpoint.as_ref().map(BaseUrl::as_str);
        let endpoint = endpoint_setting.or(kind::endpoint(provider))?;
        let model = self.name.as_deref().or(self.own_name())?;
        let is_public = kind::is_public(provider) && endpoint_setting.is_none();
        let fetches = self.addresses.unwrap_or(is_public);
        let is_type = |it| provider == it;
        Some(Target {
            keys: self.keys(),
            deployment: if is_type(ProviderType::AzureOpenAi) {
                self.deployment.clone()
            } else {
                None
            },
            api_version: is_type(ProviderType::AzureOpenAi)
                .then(|| self.api_version.clone().unwrap_or_else(|| AZURE_API.to_owned())),
            agent: if is_type(ProviderType::Mistral) { self.agent.clone() } else { None },
            reasoning_effort: self.effort,
            takes_reasoning_effort: is_type(ProviderType::OpenAiCompatible)
                && self.takes_effort.unwrap_or(false),
            web_search: provider.searches_the_web() && self.web_search.unwrap_or(false),
            vision: self.vision.unwrap_or(true),
            addresses: if fetches { Addresses::PassedOn } else { Addresses::Refused },
            upstream_tools: if is_type(ProviderType::Anthropic) {
                Vec::new()
            } else {
                self.upstream_tools.clone()
            },
            unsupported: self.unsupported.clone(),
            web_search_tool: self.web_search_tool.clone(),
            vision_tool: self.vision_tool.clone(),
            fallbacks: self.fallbacks.clone(),
            rates,
            protection: self.protection,
            ..Target::new(provider, endpoint, model)
        })
    }

    /// Warns of settings that have no effect with this type.
    pub(super) fn warn_unused(&self, from: &mut Section<'_>) {
        // A mode that inherits its type need not be warned.
        let Some(provider) = self.provider else { return };

        let mut warn_unless = |name: &str, is_configured: bool, required: ProviderType| {
            if is_configured && provider != required {
                from.warn(name, format!("has no effect but with the type {}", required.name()));
            }
        };

        warn_unless("AzureDeploymentName", self.deployment.is_some(), ProviderType::AzureOpenAi);
        warn_unless("AzureApiVersion", self.api_version.is_some(), ProviderType::AzureOpenAi);
        warn_unless("MistralAgentId", self.agent.is_some(), ProviderType::Mistral);
        let supports = self.takes_effort == Some(true);
        warn_unless("SupportsReasoningEffort", supports, ProviderType::OpenAiCompatible);

        if !self.upstream_tools.is_empty() && provider == ProviderType::Anthropic {
            from.warn("UpstreamTools", "has no effect with the type Anthropic");
        }

        if self.web_search == Some(true) && !provider.searches_the_web() {
            let text = format!("is read as off: {} does not search the web", provider.name());
            from.warn("EnableWebSearch", text);
        }
    }

    /// Warns of settings that have no effect for a search provider.
    pub(super) fn warn_unused_by_search(&self, from: &mut Section<'_>) {
        let model_settings = [
            ("AzureDeploymentName", self.deployment.is_some()),
            ("AzureApiVersion", self.api_version.is_some()),
            ("MistralAgentId", self.agent.is_some()),
            ("ReasoningEffort", self.effort.is_some()),
            ("SupportsReasoningEffort", self.takes_effort.is_some()),
            ("EnableWebSearch", self.web_search.is_some()),
            ("EnableVision", self.vision.is_some()),
            ("EnableAddresses", self.addresses.is_some()),
            ("UpstreamTools", !self.upstream_tools.is_empty()),
            ("UnsupportedParameters", !self.unsupported.is_empty()),
            ("WebSearchToolProviderId", self.web_search_tool.is_some()),
            ("VisionToolProviderId", self.vision_tool.is_some()),
            ("Fallbacks", !self.fallbacks.is_empty()),
        ];

        for (name, _) in model_settings.into_iter().filter(|(_, is_configured)| *is_configured) {
            from.warn(name, "has no effect with the type Linkup");
        }

        self.prices.warn_unused(from);

        if self.protection.tokens_per_minute.is_some() {
            let text = "has no effect with the type Linkup, which takes no tokens";
            from.section("Protection").warn("TokensPerMinute", text);
        }
    }

    fn own_name(&self) -> Option<&str> {
        match self.provider() {
            ProviderType::AzureOpenAi => self.deployment.as_deref(),
            ProviderType::Mistral => self.agent.as_deref(),
            _ => None,
        }
    }
}

/// Returns the keys without duplicates; a blank `ApiKey` stands for no keys.
fn keys(from: &mut Section<'_>, effect: Effect) -> Option<Vec<Secret<String>>> {
    let single_key = from.field("ApiKey", effect).optional_or_blank::<ApiKey>();
    let further_keys = from.field("ApiKeys", effect).list::<ApiKey>();
    if single_key.is_none() && further_keys.is_empty() {
        return None;
    }

    let mut keys: Vec<Secret<String>> = Vec::new();
    for ApiKey(key) in single_key.into_iter().chain(further_keys) {
        if !key.expose().is_empty() && !keys.iter().any(|it| it.ct_eq(key.expose())) {
            keys.push(key);
        }
    }

    Some(keys)
}

fn fallbacks(from: &mut Section<'_>, effect: Effect) -> Vec<String> {
    from.field("Fallbacks", effect).list::<EntryId>().into_iter().map(|it| it.0).collect()
}

fn protection(from: &mut Section<'_>, effect: Effect) -> Protection {
    let mut limit = |name, max| from.field(name, effect).optional_within(1..=max);
    Protection {
        requests_per_minute: limit("RequestsPerMinute", 1_000_000),
        tokens_per_minute: limit("TokensPerMinute", 1_000_000_000),
        concurrent: limit("MaxConcurrent", 100_000),
    }
}
