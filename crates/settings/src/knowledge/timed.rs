//! Models that a search waits for.

use std::sync::Arc;
use std::time::Duration;

use pia_assistant::{ModelCatalogue, ProviderType, Target, TimedTarget};

use crate::error::Reason;
use crate::section::Section;
/// Maximum timeout of a ranking, in seconds: if the ranking fails, the search must
/// still end in time.
const MAX_RANKING_SECONDS: u32 = 4;
/// Maximum timeout of rewriting a question, in seconds: a chat waits for the result.
const MAX_REWRITING_SECONDS: u32 = 30;

/// Returns the model that ranks passages.
pub(super) fn reranker(from: &mut Section<'_>, catalogue: &ModelCatalogue) -> Option<TimedTarget> {
    let provider = from.restart("ProviderId").optional::<String>();
    let model = from.restart("Model").optional::<String>();
    let timeout = read_timeout(from, 2, MAX_RANKING_SECONDS);

    let provider = provider?;
    let Some(entry) = catalogue.embedder(&provider).or_else(|| catalogue.entry(&provider)) else {
        from.refuse("ProviderId", Reason::combination("names no entry of Ai:Providers"));
        return None;
    };
    if matches!(entry.provider, ProviderType::Anthropic | ProviderType::AzureOpenAi) {
        let reason = Reason::combination("this type of provider has no rerankers");
        from.refuse("ProviderId", reason);
        return None;
    }

    let model = model.unwrap_or_else(|| entry.model.clone());

    Some(TimedTarget { target: Arc::new(Target { model, ..(**entry).clone() }), timeout })
}

/// Returns the model that rewrites questions.
pub(super) fn question_model(
    from: &mut Section<'_>,
    catalogue: &ModelCatalogue,
) -> Option<TimedTarget> {
    let provider = from.restart("ProviderId").optional::<String>();
    let timeout = read_timeout(from, 3, MAX_REWRITING_SECONDS);

    let provider = provider?;
    let Some(entry) = catalogue.entry(&provider) else {
        let reason = Reason::combination("names no chat model of Ai:Providers");
        from.refuse("ProviderId", reason);
        return None;
    };
    Some(TimedTarget { target: Arc::clone(entry), timeout })
}

fn read_timeout(from: &mut Section<'_>, default_seconds: u32, max_seconds: u32) -> Duration {
    let seconds = from.restart("TimeoutSeconds").within(default_seconds, 1..=max_seconds);
    Duration::from_secs(seconds.into())
}
