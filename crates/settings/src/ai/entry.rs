//! Entry of the catalogue.

use pia_assistant::{Protection, ProviderType, SearchDepth, SearchProvider, Target};

use super::identifier::EntryId;
use super::kind::Kind;
use super::model::Model;
use crate::base_url::BaseUrl;
use crate::fault::Reason;
use crate::section::Section;
use crate::setting::{Setting, choice};
use crate::snapshot::Effect;

/// Base URL of Linkup.
const LINKUP: &str = "https://api.linkup.so/v1";

/// An entry, as it is written down. What is wrong with it was reported.
pub(super) struct Entry {
    /// None where it is missing.
    pub(super) id: Option<String>,
    pub(super) kind: Kind,
    /// True if it turns texts into vectors, and talks to nobody.
    pub(super) embeds: bool,
    name: Option<String>,
    pub(super) model: Model,
}

impl Entry {
    pub(super) fn from_section(from: &mut Section<'_>) -> Self {
        let id = from.restart("Id").required::<EntryId>("an entry needs an id of its own");
        let name = from.restart("Name").optional();
        let input = from.restart("ProviderType").optional::<Kind>();
        let kind = input.unwrap_or(Kind::Chat(ProviderType::OpenAi));
        let embeds = from.restart("Embeddings").or(false);
        if embeds && [Kind::Search, Kind::Chat(ProviderType::Anthropic)].contains(&kind) {
            let none = Reason::combination("this type of provider has no embeddings");
            from.refuse("Embeddings", none);
        }
        let mut model = Model::from_section(from, Effect::Restart);
        match kind {
            Kind::Chat(provider) => {
                model.provider = Some(provider);
                model.mention_idle(from);
            }
            Kind::Search => model.mention_idle_of_search(from),
        }
        Self { id: id.map(|it| it.0), kind, embeds, name, model }
    }

    /// Builds a model; nothing where something is missing or invalid.
    pub(super) fn target(self, from: &mut Section<'_>) -> Option<Target> {
        let Self { id, name, model, .. } = self;
        let rates = model.rates(from);
        let sound = model.is_sound(from);
        if !model.is_named() && !from.refused("Model") && !from.refused("AzureDeploymentName") {
            from.restart("Model").required::<String>("say which model the entry stands for");
        }
        if model.is_named() && !model.is_reachable() {
            from.warn("ApiKey", "is missing: without a key the upstream will refuse every call");
        }
        if !sound {
            return None;
        }
        let target = model.target(rates?, from)?;
        let id = id?;
        let name = name.unwrap_or_else(|| id.clone());
        Some(Target { id: Some(id), name: Some(name), ..target })
    }

    /// Builds a search provider; nothing where something is missing or invalid.
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

    fn parse(text: &str) -> Result<Self, Reason> {
        choice(text, &Self::ALL.map(|it| (it.name(), it)))
    }

    fn format(&self) -> String {
        self.name().to_owned()
    }
}
