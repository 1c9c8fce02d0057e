//! Entries of the catalogue.
//!
//! `providers.rs` reads each entry and then calls `target` for a chat or an
//! embedding model, or `search` for a web search.

use pia_assistant::{Protection, ProviderType, SearchDepth, SearchProvider, Target};

use super::identifier::EntryId;
use super::kind::Kind;
use super::model::Model;
use crate::base_url::BaseUrl;
use crate::error::Reason;
use crate::section::Section;
use crate::setting::{Setting, choice};
use crate::snapshot::Effect;

/// Base URL of Linkup.
const LINKUP: &str = "https://api.linkup.so/v1";

/// Catalogue entry as configured. Its errors have been reported.
pub(super) struct Entry {
    /// Id; `None` if it is missing or invalid.
    pub(super) id: Option<String>,
    pub(super) kind: Kind,
    /// True if it is an embedding model rather than a chat model.
    pub(super) embeds: bool,
    name: Option<String>,
    pub(super) model: Model,
}

impl Entry {
    pub(super) fn from_section(from: &mut Section<'_>) -> Self {
        let id = from.restart("Id").required::<EntryId>("an entry needs an id of its own");
        let name = from.restart("Name").optional();
        let provider_type = from.restart("ProviderType").optional::<Kind>();
        let kind = provider_type.unwrap_or(Kind::Chat(ProviderType::OpenAi));
        let embeds = from.restart("Embeddings").or(false);
        if embeds && [Kind::Search, Kind::Chat(ProviderType::Anthropic)].contains(&kind) {
            let reason = Reason::combination("this type of provider has no embeddings");
            from.refuse("Embeddings", reason);
        }

        let mut model = Model::from_section(from, Effect::Restart);
        match kind {
            Kind::Chat(provider) => {
                model.provider = Some(provider);
                model.warn_unused(from);
            }
            Kind::Search => model.warn_unused_by_search(from),
        }

        Self { id: id.map(|it| it.0), kind, embeds, name, model }
    }

    /// Builds a model; `None` if a setting is missing or invalid.
    pub(super) fn target(self, from: &mut Section<'_>) -> Option<Target> {
        let Self { id, name, model, .. } = self;
        let rates = model.rates(from);
        let is_sound = model.is_sound(from);

        if !model.is_named() && !from.refused("Model") && !from.refused("AzureDeploymentName") {
            from.restart("Model").required::<String>("say which model the entry stands for");
        }

        if model.is_named() && !model.is_reachable() {
            from.warn("ApiKey", "is missing: without a key the upstream will refuse every call");
        }

        if !is_sound {
            return None;
        }

        let target = model.target(rates?, from)?;
        let id = id?;
        let name = name.unwrap_or_else(|| id.clone());

        Some(Target { id: Some(id), name: Some(name), ..target })
    }

    /// Builds a search provider; `None` if a setting is missing or invalid.
    pub(super) fn search(self, from: &mut Section<'_>) -> Option<SearchProvider> {
        let Self { id, model, .. } = self;
        let depth = from.restart("Model").required("say fast, standard or deep");
        if !model.has_key() && model.endpoint.is_none() {
            from.warn("ApiKey", "is missing: without a key the upstream will refuse every call");
        }
        let endpoint = model.endpoint.as_ref().map_or(LINKUP, BaseUrl::as_str).to_owned();
        let protection = Protection { tokens_per_minute: None, ..model.protection };
        Some(SearchProvider { id: id?, endpoint, keys: model.keys(), depth: depth?, protection })
    }
}

impl Setting for SearchDepth {
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
