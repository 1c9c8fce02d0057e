//! Routes of the proxy to upstream models.

use actix_web::http::Method;
use pia_policy::Feature;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, Docs, Document, Licensing, PaidBy,
    RateLimit, ResponseDoc, Route, wire,
};

use super::{KIB, MIB};
use crate::ai;

/// Refusals caused by the upstream.
const UPSTREAM: &[(u16, &str)] = &[
    (429, "A budget is used up (`Token Limit Exceeded`; `period` says whose), or `rate_limited`."),
    (502, "The upstream failed, is busy (`Retry-After`), or finds the conversation too long."),
    (503, "No upstream is configured, or it or the server has no room (`Retry-After`)."),
    (504, "The upstream took too long."),
];

/// Refusals in OpenAI's form, where errors are objects.
const OPENAI: &[(u16, &str)] = &[
    (404, "The caller may name no such model: `model_not_found`."),
    (429, "A budget is used up (`insufficient_quota`), or `rate_limit_exceeded`."),
    (502, "The upstream failed."),
    (503, "No upstream is configured, or it or the server has no room (`Retry-After`)."),
    (504, "The upstream took too long."),
];

pub(super) fn routes() -> Vec<Route> {
    vec![
        status(),
        templates(),
        models(),
        model(),
        credits(),
        optimize(),
        generate_prompt(),
        chat("/api/ai/chat", "Answers a turn of a conversation, whole or streamed."),
        chat("/api/ai/chat/completions", "The same, under the name that OpenAI's clients call."),
        openai_chat("/v1/chat/completions"),
        openai_models("/v1/models"),
        openai_model("/v1/models/{model}"),
        openai_responses("/v1/responses"),
        openai_responses("/api/ai/v1/responses"),
        openai_embeddings("/v1/embeddings"),
        openai_embeddings("/api/ai/v1/embeddings"),
        openai_chat("/api/ai/v1/chat/completions"),
        openai_models("/api/ai/v1/models"),
        openai_model("/api/ai/v1/models/{model}"),
    ]
}

fn status() -> Route {
    Route {
        method: Method::GET,
        path: "/api/ai/status",
        access: Access::Bearer,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::SessionOrApiKey,
        accounts: AccountScope::Complete,
        feature: Some(Feature::AiProxy),
        payer: PaidBy::Caller,
        document: Document::Public,
        charge: RateLimit::AtGate(Budget::Global),
        body_limit: 0,
        handler: |route| route.to(ai::status),
        docs: Docs {
            tag: "ai",
            summary: "Says whether upstream models are there for the caller, and for what.",
            request: None,
            answer: ResponseDoc::Json(wire::<ai::StatusResponse>),
            refusals: &[],
        },
    }
}

fn templates() -> Route {
    Route {
        path: "/api/ai/templates",
        handler: |route| route.to(ai::templates),
        docs: Docs {
            tag: "ai",
            summary: "Lists the built-in templates.",
            request: None,
            answer: ResponseDoc::Json(wire::<ai::TemplatesResponse>),
            refusals: &[],
        },
        ..status()
    }
}

fn models() -> Route {
    Route {
        path: "/api/ai/models",
        handler: |route| route.to(ai::models),
        docs: Docs {
            tag: "ai",
            summary: "Lists what may be named as the `model` of a request, as OpenAI does.",
            request: None,
            answer: ResponseDoc::Json(wire::<ai::ModelsResponse>),
            refusals: &[],
        },
        ..status()
    }
}

fn model() -> Route {
    Route {
        path: "/api/ai/models/{model}",
        handler: |route| route.to(ai::model),
        docs: Docs {
            tag: "ai",
            summary: "Tells of one that may be named as the `model` of a request, as OpenAI does.",
            request: None,
            answer: ResponseDoc::Json(wire::<ai::ModelItem>),
            refusals: &[(404, "The caller may name no such model: `not_found`.")],
        },
        ..status()
    }
}

fn credits() -> Route {
    Route {
        path: "/api/ai/credits",
        handler: |route| route.to(ai::credits),
        docs: Docs {
            tag: "ai",
            summary: "Says what the caller may spend, and has spent, in whole credits.",
            request: None,
            answer: ResponseDoc::Json(wire::<ai::CreditsResponse>),
            refusals: &[],
        },
        ..status()
    }
}

fn generate_prompt() -> Route {
    Route {
        path: "/api/ai/generate-prompt",
        body_limit: 64 * KIB,
        handler: |route| route.to(ai::generate_prompt),
        docs: Docs {
            tag: "ai",
            summary: "Drafts the prompt of a template from a short description.",
            request: Some(wire::<ai::GeneratePromptBody>),
            answer: ResponseDoc::Json(wire::<ai::GeneratePromptResponse>),
            refusals: UPSTREAM,
        },
        ..optimize()
    }
}

fn optimize() -> Route {
    Route {
        method: Method::POST,
        path: "/api/ai/optimize",
        access: Access::Bearer,
        licensing: Licensing::InForce,
        credentials: AcceptedCredentials::SessionOrApiKey,
        accounts: AccountScope::Complete,
        feature: Some(Feature::AiProxy),
        payer: PaidBy::Caller,
        document: Document::Public,
        charge: RateLimit::AtGate(Budget::Ai),
        // Text and template prompt, each character six bytes long (`\u1234`).
        body_limit: 512 * KIB,
        handler: |route| route.to(ai::optimize),
        docs: Docs {
            tag: "ai",
            summary: "Improves a text, as a template says.",
            request: Some(wire::<ai::OptimizeBody>),
            answer: ResponseDoc::JsonOrEvents(wire::<ai::OptimizeResponse>),
            refusals: UPSTREAM,
        },
    }
}

fn chat(path: &'static str, summary: &'static str) -> Route {
    Route {
        path,
        body_limit: 32 * MIB,
        handler: |route| route.to(ai::chat),
        docs: Docs {
            tag: "ai",
            summary,
            request: Some(wire::<ai::ChatRequest>),
            answer: ResponseDoc::JsonOrEvents(wire::<ai::ChatResponse>),
            refusals: UPSTREAM,
        },
        ..optimize()
    }
}

fn openai_chat(path: &'static str) -> Route {
    let summary = "Answers a turn of a conversation, whole or streamed, as OpenAI's API does.";
    let plain = chat(path, summary);
    Route { docs: Docs { refusals: OPENAI, ..plain.docs }, ..plain }
}

fn openai_responses(path: &'static str) -> Route {
    Route {
        path,
        body_limit: 16 * MIB,
        handler: |route| route.to(ai::responses),
        docs: Docs {
            tag: "ai",
            summary: "Answers a turn of a conversation in the shape of OpenAI's responses.",
            request: Some(wire::<ai::ResponsesRequest>),
            answer: ResponseDoc::JsonOrEvents(wire::<ai::ResponsesResponse>),
            refusals: OPENAI,
        },
        ..optimize()
    }
}

fn openai_embeddings(path: &'static str) -> Route {
    Route {
        path,
        body_limit: 8 * MIB,
        handler: |route| route.to(ai::embeddings),
        docs: Docs {
            tag: "ai",
            summary: "Turns texts into vectors, as OpenAI's API does.",
            request: Some(wire::<ai::EmbeddingsRequest>),
            answer: ResponseDoc::Json(wire::<ai::EmbeddingsResponse>),
            refusals: OPENAI,
        },
        ..optimize()
    }
}

fn openai_models(path: &'static str) -> Route {
    Route { path, ..models() }
}

fn openai_model(path: &'static str) -> Route {
    let missing = &[(404, "The caller may name no such model: `model_not_found`.")];
    let plain = model();
    Route { path, docs: Docs { refusals: missing, ..plain.docs }, ..plain }
}
