//! Routes of the proxy to upstream models.

use actix_web::http::Method;
use pia_policy::Feature;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route, wire,
};

use super::{KIB, MIB};
use crate::ai;

/// Refusals caused by the upstream.
const UPSTREAM: &[(u16, &str)] = &[
    (429, "A budget is exhausted (`Token Limit Exceeded`, with its `period`), or `rate_limited`."),
    (502, "The upstream failed, is busy (`Retry-After`), or rejects the conversation as too long."),
    (
        503,
        "No upstream is configured, or the upstream or the server is overloaded \
           (`Retry-After`).",
    ),
    (504, "The upstream didn't respond in time."),
];

/// Refusals in OpenAI's form, where errors are objects.
const OPENAI: &[(u16, &str)] = &[
    (404, "The caller has no such model: `model_not_found`."),
    (429, "A budget is exhausted (`insufficient_quota`), or `rate_limit_exceeded`."),
    (502, "The upstream failed."),
    (
        503,
        "No upstream is configured, or the upstream or the server is overloaded \
           (`Retry-After`).",
    ),
    (504, "The upstream didn't respond in time."),
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
        chat("/api/ai/chat", "Completes a conversation, optionally as a stream."),
        chat("/api/ai/chat/completions", "Alias of `/api/ai/chat` for OpenAI clients."),
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
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        body_limit: 0,
        handler: |route| route.to(ai::status),
        docs: Docs {
            tag: "ai",
            summary: "Returns whether models are available to the caller, and in which modes.",
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
            summary: "Lists the models that the caller may use, in OpenAI's format.",
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
            summary: "Returns a model that the caller may use, in OpenAI's format.",
            request: None,
            answer: ResponseDoc::Json(wire::<ai::ModelItem>),
            refusals: &[(404, "The caller has no such model: `not_found`.")],
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
            summary: "Returns the caller's budgets and usage, in whole credits.",
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
            summary: "Drafts the prompt of a template from a description.",
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
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Ai),
        // Text and template prompt, each character six bytes long (`\u1234`).
        body_limit: 512 * KIB,
        handler: |route| route.to(ai::optimize),
        docs: Docs {
            tag: "ai",
            summary: "Rewrites a text according to a template.",
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
    let summary = "Completes a conversation with OpenAI's chat completions API.";
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
            summary: "Completes a conversation with OpenAI's responses API.",
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
            summary: "Creates embeddings with OpenAI's embeddings API.",
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
    let missing = &[(404, "The caller has no such model: `model_not_found`.")];
    let plain = model();
    Route { path, docs: Docs { refusals: missing, ..plain.docs }, ..plain }
}
