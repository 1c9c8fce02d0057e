//! Models of the catalogue as administrators see them, and calls that test them.
//!
//! Attempts and load are those of this instance since its start. A test (`test_call.rs`) is
//! a real call under the limits of its entry, and is recorded in the audit log before.

mod test_call;

use std::sync::Arc;
use std::time::Duration;

use pia_kernel::{EffectWriter, Secret, SideEffects, Unavailable, UserId};

use crate::gateway::Gateway;
use crate::request::prompt_body::ModelHint;
use crate::routing::attempts::{AttemptOutcome, EntryAttempts};
use crate::routing::catalogue::{ModelCatalogue, SearchProvider};
use crate::routing::route::route;
use crate::routing::target::{Mode, Protection, Target};
use crate::rules::GroupRules;

pub use test_call::{ModelAnswer, ModelTestFailure};

/// Time limit of a test.
const TEST_TIMEOUT: Duration = Duration::from_secs(40);

/// Model of the catalogue, by its purpose.
#[derive(Debug, Clone)]
pub enum CatalogueModel {
    /// Model for conversations and optimising.
    Chat(Arc<Target>),
    /// Model that computes vectors, which no conversation may name.
    Embedder(Arc<Target>),
    /// Service that searches the web, for models without a search.
    Search(Arc<SearchProvider>),
}

/// Entry of the catalogue, and its state in this instance.
#[derive(Debug, Clone)]
pub struct ModelEntry {
    /// Key: `Ai`, `Ai:Modes:Research`, or `Ai:Providers:` with the entry's id.
    pub key: String,
    /// Model, with its settings.
    pub model: CatalogueModel,
    /// Modes that it serves for groups without a model of their own.
    pub modes: Vec<Mode>,
    /// Attempts since the start. The models of `Ai` and `Ai:Modes` are counted
    /// together.
    pub attempts: EntryAttempts,
    /// Number of open calls, if its calls are limited.
    pub open_calls: u64,
    /// Number of calls that wait for these limits.
    pub waiting_calls: u64,
    /// Number of keys that are not used for a while, as they were refused.
    pub keys_in_cooldown: usize,
}

/// Result of a test call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelTest {
    /// Time from the call to the end of its answer.
    pub took: Duration,
    /// Answer, or the reason that there is none.
    pub result: Result<ModelAnswer, ModelTestFailure>,
}

/// Reasons why no test was made.
#[derive(Debug, thiserror::Error)]
pub enum ModelTestError {
    /// No entry has this key.
    #[error("no such model")]
    Unknown,
    /// Test cannot be recorded in the audit log.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Administrators' view of the catalogue.
#[derive(Clone)]
pub struct Models {
    gateway: Gateway,
    effects: Arc<dyn EffectWriter>,
}

impl Models {
    /// Creates the view of the catalogue of a gateway.
    pub fn new(gateway: Gateway, effects: Arc<dyn EffectWriter>) -> Self {
        Self { gateway, effects }
    }

    /// Returns all entries in the order of the settings.
    pub fn list(&self) -> Vec<ModelEntry> {
        self.entries(&self.gateway.catalogue.get())
    }

    /// Returns the entry that serves a mode for the members of a group, with the id of the
    /// group's own entry for that mode; `None` if no model serves it.
    pub fn serving(&self, mode: Mode, id_of_group: Option<&str>) -> Option<ModelEntry> {
        let catalogue = self.gateway.catalogue.get();
        let modes = id_of_group.map(|id| (mode, id.to_owned())).into_iter().collect();
        let rules = GroupRules { modes, ..GroupRules::default() };
        let targets = route(&catalogue, &rules, Some(mode), &ModelHint::default())?;
        let first = targets.first()?;
        self.entries(&catalogue).into_iter().find(
            |it| matches!(&it.model, CatalogueModel::Chat(model) if Arc::ptr_eq(model, first)),
        )
    }

    fn entries(&self, catalogue: &ModelCatalogue) -> Vec<ModelEntry> {
        let unnamed_models = [
            ("Ai".to_owned(), &catalogue.default),
            (mode_key(Mode::Assistant), &catalogue.assistant),
            (mode_key(Mode::Research), &catalogue.research),
        ]
        .into_iter()
        .filter_map(|(key, target)| {
            Some((key, CatalogueModel::Chat(Arc::clone(target.as_ref()?))))
        });

        let chats = catalogue.entries.iter().cloned().map(CatalogueModel::Chat);
        let embedders = catalogue.embedders.iter().cloned().map(CatalogueModel::Embedder);
        let searches = catalogue.searches.iter().cloned().map(CatalogueModel::Search);
        let named_models = chats
            .chain(embedders)
            .chain(searches)
            .map(|it| (format!("Ai:Providers:{}", it.id().unwrap_or_default()), it));

        unnamed_models
            .chain(named_models)
            .map(|(key, model)| self.entry(catalogue, key, model))
            .collect()
    }

    /// Returns the entry with this key.
    pub fn find(&self, key: &str) -> Option<ModelEntry> {
        self.list().into_iter().find(|it| it.key == key)
    }

    /// Calls an entry once with a short question, with the administrator's audit
    /// entry. Nobody is charged.
    pub async fn test(&self, by: UserId, key: &str) -> Result<ModelTest, ModelTestError> {
        let entry = self.find(key).ok_or(ModelTestError::Unknown)?;
        let at = self.gateway.clock.now();
        let object = format!("model:{key}");
        let effects = SideEffects::of_object(at, Some(by), object, "Model.Tested");
        self.effects.write(&effects).await?;
        let timer = &self.gateway.timer;
        let start_time = timer.elapsed();
        let call = Box::pin(self.gateway.test_call(&entry.model));
        let outcome = self.gateway.within(TEST_TIMEOUT, call).await;
        let result = outcome.unwrap_or(Err(ModelTestFailure::TimedOut));
        Ok(ModelTest { took: timer.elapsed().saturating_sub(start_time), result })
    }

    /// Returns an entry with its attempts and load in this instance.
    fn entry(&self, catalogue: &ModelCatalogue, key: String, model: CatalogueModel) -> ModelEntry {
        let Gateway { upstream_limiter, attempts, keys, timer, .. } = &self.gateway;
        let load = match &model {
            CatalogueModel::Chat(it) | CatalogueModel::Embedder(it) => {
                upstream_limiter.load_of(&**it)
            }
            CatalogueModel::Search(it) => upstream_limiter.load_of(&**it),
        };

        let serves = |mode: &Mode| match (&model, catalogue.serving(Some(*mode))) {
            (CatalogueModel::Chat(chat_model), Some(serving_model)) => {
                Arc::ptr_eq(chat_model, &serving_model)
            }
            _ => false,
        };

        ModelEntry {
            key,
            modes: Mode::ALL.into_iter().filter(serves).collect(),
            attempts: attempts.of_entry(model.id()),
            open_calls: load.open_calls,
            waiting_calls: load.waiting_calls,
            keys_in_cooldown: keys.count_in_cooldown(model.keys(), timer.elapsed()),
            model,
        }
    }
}

impl ModelEntry {
    /// Returns its name for people; an unnamed entry has its id or key.
    pub fn name(&self) -> &str {
        match &self.model {
            CatalogueModel::Chat(it) | CatalogueModel::Embedder(it) => {
                it.name.as_deref().or(it.id.as_deref()).unwrap_or(&self.key)
            }
            CatalogueModel::Search(it) => &it.id,
        }
    }

    /// Returns the outcome of the last call, if it means that the provider does
    /// not serve this model: being at capacity passes, and a refused request
    /// may be the caller's fault.
    pub fn failure(&self) -> Option<AttemptOutcome> {
        self.attempts.last.filter(|it| match it {
            AttemptOutcome::Answered | AttemptOutcome::Busy | AttemptOutcome::Refused => false,
            AttemptOutcome::KeyRefused
            | AttemptOutcome::Failed
            | AttemptOutcome::Unreachable
            | AttemptOutcome::Silent => true,
        })
    }
}

impl CatalogueModel {
    /// Returns the id of its entry; `None` for models of `Ai` and `Ai:Modes`
    /// themselves.
    pub fn id(&self) -> Option<&str> {
        match self {
            Self::Chat(it) | Self::Embedder(it) => it.id.as_deref(),
            Self::Search(it) => Some(&it.id),
        }
    }

    /// Returns the name of its provider.
    pub fn provider(&self) -> &'static str {
        match self {
            Self::Chat(it) | Self::Embedder(it) => it.provider.name(),
            Self::Search(_) => "Linkup",
        }
    }

    /// Returns its name at the provider; of a web search the depth.
    pub fn upstream_name(&self) -> &str {
        match self {
            Self::Chat(it) | Self::Embedder(it) => it.deployment.as_deref().unwrap_or(&it.model),
            Self::Search(it) => it.depth.name(),
        }
    }

    /// Returns the limits on its calls.
    pub fn protection(&self) -> Protection {
        match self {
            Self::Chat(it) | Self::Embedder(it) => it.protection,
            Self::Search(it) => it.protection,
        }
    }

    /// Returns its interchangeable keys; none if it requires none.
    pub fn keys(&self) -> &[Secret<String>] {
        match self {
            Self::Chat(it) | Self::Embedder(it) => &it.keys,
            Self::Search(it) => &it.keys,
        }
    }
}

fn mode_key(mode: Mode) -> String {
    format!("Ai:Modes:{}", mode.name())
}

#[cfg(test)]
mod tests;
