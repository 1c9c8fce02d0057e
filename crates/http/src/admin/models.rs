//! `/api/admin/models`: the catalogue of models, and calls that test them.

use std::collections::BTreeMap;

use actix_web::web::{Data, Json, Path};
use pia_assistant::{
    AttemptOutcome, CatalogueModel, Mode, ModelAnswer, ModelEntry, ModelTest, ModelTestFailure,
    Protection, Rates,
};
use pia_web::Caller;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{Api, HttpError};

/// Lists the models of the catalogue, with their calls by this instance.
pub(crate) async fn list(api: Data<Api>) -> Json<Vec<CatalogueModelResponse>> {
    Json(api.models.list().into_iter().map(Into::into).collect())
}

/// Calls a model with a short question; no credits are charged.
pub(crate) async fn test_call(
    caller: Caller,
    api: Data<Api>,
    key: Path<String>,
) -> Result<Json<ModelTestResponse>, HttpError> {
    let by = caller.0.user;
    let test = api.run(|api| async move { api.models.test(by, &key).await }).await?;
    Ok(Json(test.into()))
}

/// Model of the catalogue, without its keys and address. Calls are those of the
/// instance that answers, since its start.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CatalogueModelResponse {
    /// Key of its settings: `Ai`, `Ai:Modes:Research`, or `Ai:Providers:` with
    /// the id of the entry.
    key: String,
    /// Name for people.
    name: String,
    /// `OpenAI`, `Mistral`, `Linkup` …
    provider: &'static str,
    /// Name at the provider; of a web search its depth.
    model: String,
    /// `chat`, `embedding` or `web_search`.
    purpose: &'static str,
    /// Modes that it serves for groups without a model of their own.
    modes: Vec<&'static str>,
    /// Prices; absent for a web search.
    #[serde(skip_serializing_if = "Option::is_none")]
    prices: Option<ModelPrices>,
    limits: ModelLimits,
    /// Number of its API keys.
    key_count: usize,
    /// Number of these that are paused, as they were refused.
    paused_key_count: usize,
    /// Outcome of the last call; absent before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_outcome: Option<&'static str>,
    /// Numbers of calls by outcome: `answered`, `key_refused`, `busy`,
    /// `refused`, `failed`, `unreachable`, `silent`. The models of `Ai` and
    /// `Ai:Modes` are counted together.
    attempts: BTreeMap<&'static str, u64>,
    /// Number of open calls, if its calls are limited.
    open_calls: u64,
    /// Number of calls that wait for these limits.
    waiting_calls: u64,
}

/// Prices in thousandths of a credit for a million tokens.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ModelPrices {
    input: u64,
    cached_input: u64,
    output: u64,
    /// Tokens that the provider's own tools add.
    connector: u64,
}

/// Limits that all instances share; absent ones are unlimited.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ModelLimits {
    #[serde(skip_serializing_if = "Option::is_none")]
    requests_per_minute: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_per_minute: Option<u32>,
    /// Open calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    concurrent: Option<u32>,
}

/// Result of a call that tested a model.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelTestResponse {
    /// `answered`; or `key_refused`, `busy`, `refused`, `failed`, `unreachable`,
    /// `silent`, `unreadable`, `limit_reached` or `stopping`.
    outcome: &'static str,
    /// HTTP status of the provider, if it refused the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    /// Answer of a model for chats.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Dimensions of the vector of an embedding model.
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
    /// Number of results of a web search.
    #[serde(skip_serializing_if = "Option::is_none")]
    result_count: Option<usize>,
    /// Duration of the call.
    milliseconds: u64,
}

impl From<ModelEntry> for CatalogueModelResponse {
    fn from(entry: ModelEntry) -> Self {
        let (purpose, rates) = match &entry.model {
            CatalogueModel::Chat(it) => ("chat", Some(it.rates)),
            CatalogueModel::Embedder(it) => ("embedding", Some(it.rates)),
            CatalogueModel::Search(_) => ("web_search", None),
        };
        let counts = entry.attempts.counts.iter();

        Self {
            name: entry.name().to_owned(),
            provider: entry.model.provider(),
            model: entry.model.upstream_name().to_owned(),
            purpose,
            modes: entry.modes.iter().copied().map(Mode::name).collect(),
            prices: rates.map(Into::into),
            limits: entry.model.protection().into(),
            key_count: entry.model.keys().len(),
            paused_key_count: entry.keys_in_cooldown,
            last_outcome: entry.attempts.last.map(AttemptOutcome::name),
            attempts: counts.map(|(outcome, count)| (outcome.name(), *count)).collect(),
            open_calls: entry.open_calls,
            waiting_calls: entry.waiting_calls,
            key: entry.key,
        }
    }
}

impl From<Rates> for ModelPrices {
    fn from(Rates { input, output, cached_input, connector }: Rates) -> Self {
        Self { input, cached_input, output, connector }
    }
}

impl From<Protection> for ModelLimits {
    fn from(protection: Protection) -> Self {
        let Protection { requests_per_minute, tokens_per_minute, concurrent } = protection;
        Self { requests_per_minute, tokens_per_minute, concurrent }
    }
}

impl From<ModelTest> for ModelTestResponse {
    fn from(test: ModelTest) -> Self {
        let milliseconds = u64::try_from(test.took.as_millis()).unwrap_or(u64::MAX);
        let response = match test.result {
            Ok(answer) => Self::from(answer),
            Err(failure) => Self::from(failure),
        };
        Self { milliseconds, ..response }
    }
}

impl From<ModelAnswer> for ModelTestResponse {
    fn from(answer: ModelAnswer) -> Self {
        let response = Self { outcome: AttemptOutcome::Answered.name(), ..Self::default() };
        match answer {
            ModelAnswer::Text(text) => Self { text: Some(text), ..response },
            ModelAnswer::Vector(dimensions) => Self { dimensions: Some(dimensions), ..response },
            ModelAnswer::Results(count) => Self { result_count: Some(count), ..response },
        }
    }
}

impl From<ModelTestFailure> for ModelTestResponse {
    fn from(failure: ModelTestFailure) -> Self {
        let (outcome, status) = match failure {
            ModelTestFailure::Upstream(outcome, status) => (outcome.name(), status),
            ModelTestFailure::Unreadable => ("unreadable", None),
            ModelTestFailure::LimitReached => ("limit_reached", None),
            ModelTestFailure::TimedOut => (AttemptOutcome::Silent.name(), None),
            ModelTestFailure::Stopping => ("stopping", None),
        };
        Self { outcome, status, ..Self::default() }
    }
}
