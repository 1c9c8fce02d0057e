//! `/api/ai`: the proxy to upstream models.

mod ai_caller;
mod chat;
mod credits;
mod embeddings;
mod events;
mod generate_prompt;
mod models;
mod optimize;
mod provenance;
mod responses;
mod status;
mod templates;

use pia_assistant::{Chat, Embeddings, Gateway, Optimize, PromptDrafting};

pub(crate) use chat::{ChatRequest, ChatResponse, chat};
pub(crate) use credits::{CreditsResponse, GroupCreditsResponse, credits};
pub(crate) use embeddings::{EmbeddingsRequest, EmbeddingsResponse, embeddings};
pub(crate) use generate_prompt::{GeneratePromptBody, GeneratePromptResponse, generate_prompt};
pub(crate) use models::{ModelItem, ModelsResponse, model, models};
pub(crate) use optimize::{OptimizeBody, OptimizeResponse, optimize};
pub(crate) use responses::{ResponsesRequest, ResponsesResponse, responses};
pub(crate) use status::{StatusResponse, status};
pub(crate) use templates::{TemplatesResponse, templates};

/// Use cases of the AI proxy. Each worker has its own, since the gateway holds
/// that worker's connections to the upstreams.
pub struct AiApi {
    chat: Chat,
    embeddings: Embeddings,
    optimize: Optimize,
    drafting: PromptDrafting,
    gateway: Gateway,
}

impl AiApi {
    /// Creates the use cases of a gateway.
    pub fn new(gateway: Gateway) -> Self {
        Self {
            chat: Chat::new(gateway.clone()),
            embeddings: Embeddings::new(gateway.clone()),
            optimize: Optimize::new(gateway.clone()),
            drafting: PromptDrafting::new(gateway.clone()),
            gateway,
        }
    }
}
