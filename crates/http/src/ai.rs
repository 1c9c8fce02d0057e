//! `/api/ai`: the proxy to upstream models.

mod asker;
mod chat;
mod events;
mod optimize;
mod status;
mod templates;

use pia_assistant::{Chat, Gateway, Optimize};

pub(crate) use chat::{ChatRequest, ChatResponse, chat};
pub(crate) use optimize::{OptimizeBody, OptimizeResponse, optimize};
pub(crate) use status::{StatusResponse, status};
pub(crate) use templates::{TemplateItem, templates};

/// The use cases of the AI proxy. Each worker has its own, since the gateway
/// holds that worker's connections to the upstreams.
pub struct AiApi {
    chat: Chat,
    optimize: Optimize,
    gateway: Gateway,
}

impl AiApi {
    /// The proxy through this gateway.
    pub fn new(gateway: Gateway) -> Self {
        Self { chat: Chat::new(gateway.clone()), optimize: Optimize::new(gateway.clone()), gateway }
    }
}
