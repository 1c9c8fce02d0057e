//! Dialects of the upstream types.
//!
//! `prepare` translates a call with the module of its provider type. The request that
//! it returns names a `ResponseFormat`, which decides on the way back: the filter of
//! the events to parse, their translation, and the translation of full responses and
//! refusals. A new type needs a module and an arm in `prepare`, and a format only if
//! its responses are not in the common one. `ending.rs` has what most requests share.

mod address;
mod anthropic;
mod azure;
mod cited;
mod compatible;
mod ending;
mod links;
mod mistral;
mod ollama;
mod openai;
mod openrouter;
mod reply;
mod vllm;

use bytes::Bytes;
use http::HeaderMap;
use pia_assistant::{ChatCall, ModelCall, ProviderType, Target, UpstreamError};

use crate::client::{EVENTS, JSON};
use crate::event_filter::EventFilter;
pub(crate) use address::bearer;
pub(crate) use reply::{Translate, TranslatedFrames};

/// Call in the format of its upstream, and the format of the response to it.
pub(crate) struct PreparedRequest {
    pub(crate) url: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<Bytes>,
    pub(crate) format: ResponseFormat,
}

/// Form in which an upstream is to respond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseMode {
    /// Stream of events.
    Streamed,
    /// One JSON object.
    Full,
}

impl ResponseMode {
    /// Returns the media type of such responses.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Streamed => EVENTS,
            Self::Full => JSON,
        }
    }
}

/// Response format of an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResponseFormat {
    /// Common format, forwarded unchanged.
    Common,
    /// OpenAI's dialect, with citations beside the text.
    Cited,
    /// OpenAI's dialect, with errors within responses that began successfully.
    OpenRouter(SearchMode),
    /// Mistral's format, with contents in several chunks.
    Mistral(SearchMode),
    /// Anthropic's Messages API.
    Anthropic,
}

/// Web search of an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SearchMode {
    On,
    Off,
}

impl SearchMode {
    fn for_target(target: &Target) -> Self {
        if target.web_search { Self::On } else { Self::Off }
    }
}

/// Translates a call into the format of its target.
pub(crate) fn prepare(
    call: &ChatCall,
    mode: ResponseMode,
) -> Result<PreparedRequest, UpstreamError> {
    match call.target.provider {
        ProviderType::OpenAi => openai::prepare(call, mode),
        ProviderType::AzureOpenAi => azure::prepare(call, mode),
        ProviderType::Ollama => ollama::prepare(call, mode),
        ProviderType::OpenRouter => openrouter::prepare(call, mode),
        ProviderType::OpenAiCompatible => compatible::prepare(call, mode),
        ProviderType::Mistral => mistral::prepare(call, mode),
        ProviderType::VLlm => vllm::prepare(call, mode),
        ProviderType::Anthropic => anthropic::prepare(call, mode),
    }
}

/// Translates a request for embeddings into the format of its target.
pub(crate) fn prepare_embeddings(call: ModelCall) -> Result<PreparedRequest, UpstreamError> {
    match call.target.provider {
        ProviderType::AzureOpenAi => azure::embeddings(call),
        ProviderType::Anthropic => {
            Err(UpstreamError::Unreachable("it has no embeddings".to_owned()))
        }
        _ => prepare_model_call(call, "/embeddings"),
    }
}

/// Translates a request for a ranking into the format of its target: Cohere's,
/// which Jina, vLLM and proxies share.
pub(crate) fn prepare_ranking(call: ModelCall) -> Result<PreparedRequest, UpstreamError> {
    match call.target.provider {
        ProviderType::AzureOpenAi | ProviderType::Anthropic => {
            Err(UpstreamError::Unreachable("it has no rerankers".to_owned()))
        }
        _ => prepare_model_call(call, "/rerank"),
    }
}

/// Adds the model to a body that is still open, below the upstream's path for it.
fn prepare_model_call(call: ModelCall, path: &str) -> Result<PreparedRequest, UpstreamError> {
    let url = match call.target.provider {
        ProviderType::Ollama | ProviderType::Mistral | ProviderType::VLlm => {
            address::join_versioned_path(&call.target, path)
        }
        _ => address::join_path(&call.target, path),
    };

    Ok(PreparedRequest {
        url,
        headers: bearer(&call.key)?,
        body: ending::BodySuffix::model(&call.target.model).close_members(call.body),
        format: ResponseFormat::Common,
    })
}

impl ResponseFormat {
    /// Returns a refusal with its common status.
    pub(crate) fn refusal(self, err: UpstreamError) -> UpstreamError {
        match self {
            Self::OpenRouter(_) => openrouter::correct_refusal(err),
            _ => err,
        }
    }

    /// Returns the filter that selects the events of a stream to parse.
    pub(crate) fn stream_filter(self) -> EventFilter {
        match self {
            Self::Common | Self::OpenRouter(SearchMode::Off) => EventFilter::for_answers(),
            Self::Mistral(SearchMode::Off) => EventFilter::for_answers().with_arrays(),
            Self::Cited
            | Self::OpenRouter(SearchMode::On)
            | Self::Mistral(SearchMode::On)
            | Self::Anthropic => EventFilter::for_answers().select_all(),
        }
    }

    /// Returns the translation of selected events into the common format.
    pub(crate) fn translation(self) -> Option<Box<dyn Translate>> {
        match self {
            Self::Common => None,
            Self::Cited => Some(Box::new(cited::CitationTranslator::default())),
            Self::OpenRouter(search) => Some(Box::new(openrouter::Stream::new(search))),
            Self::Mistral(search) => Some(Box::new(mistral::Stream::new(search))),
            Self::Anthropic => Some(Box::new(anthropic::Stream::default())),
        }
    }

    /// Translates a full response into the common format.
    pub(crate) fn full_response(self, answer: Bytes) -> Result<Bytes, UpstreamError> {
        match self {
            Self::Common => Ok(answer),
            Self::Cited => Ok(cited::link_citations(answer)),
            Self::OpenRouter(_) => openrouter::openrouter_full_response(answer),
            Self::Mistral(search) => Ok(mistral::mistral_full_response(answer, search)),
            Self::Anthropic => anthropic::anthropic_full_response(&answer),
        }
    }
}

#[cfg(test)]
mod tests;
