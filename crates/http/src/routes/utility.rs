//! Routes of probes, capabilities and the OpenAPI document.

use actix_web::http::Method;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route, wire,
};

use crate::{capabilities, health, metrics, openapi, ready};

pub(super) fn routes() -> Vec<Route> {
    vec![health(), ready(), metrics(), capabilities(), description()]
}

fn health() -> Route {
    Route {
        method: Method::GET,
        path: "/health",
        access: Access::Anonymous,
        licensing: Licensing::NotNeeded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Complete,
        feature: None,
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Health),
        body_limit: 0,
        handler: |route| route.to(health::health),
        docs: Docs {
            tag: "utility",
            summary: "Reports that the process is running.",
            request: None,
            answer: ResponseDoc::Json(wire::<health::HealthResponse>),
            refusals: &[],
        },
    }
}

fn ready() -> Route {
    Route {
        method: Method::GET,
        path: "/ready",
        access: Access::Anonymous,
        licensing: Licensing::NotNeeded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Complete,
        feature: None,
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::Unlimited,
        body_limit: 0,
        handler: |route| route.to(ready::ready),
        docs: Docs {
            tag: "utility",
            summary: "Reports whether requests can be served, and why not.",
            request: None,
            answer: ResponseDoc::Json(wire::<ready::ReadyResponse>),
            refusals: &[(
                503,
                "The database is unavailable, or its schema isn't that of this \
                               version.",
            )],
        },
    }
}

fn metrics() -> Route {
    Route {
        method: Method::GET,
        path: "/metrics",
        access: Access::Operator,
        licensing: Licensing::NotNeeded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Complete,
        feature: None,
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::Unlimited,
        body_limit: 0,
        handler: |route| route.to(metrics::metrics),
        docs: Docs {
            tag: "utility",
            summary: "Returns metrics for Prometheus, to local callers or with the metrics token.",
            request: None,
            answer: ResponseDoc::Other("application/openmetrics-text"),
            refusals: &[],
        },
    }
}

fn capabilities() -> Route {
    Route {
        method: Method::GET,
        path: "/api/capabilities",
        access: Access::Anonymous,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Complete,
        feature: None,
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        body_limit: 0,
        handler: |route| route.to(capabilities::capabilities),
        docs: Docs {
            tag: "utility",
            summary: "Returns the capabilities of the server.",
            request: None,
            answer: ResponseDoc::Json(wire::<capabilities::CapabilitiesResponse>),
            refusals: &[],
        },
    }
}

fn description() -> Route {
    Route {
        method: Method::GET,
        path: "/openapi/v1.json",
        access: Access::Anonymous,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Complete,
        feature: None,
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        body_limit: 0,
        handler: |route| route.to(openapi::description),
        docs: Docs {
            tag: "utility",
            summary: "Returns this description, if `OpenApi:Enabled` is set.",
            request: None,
            answer: ResponseDoc::Other("application/json"),
            refusals: &[(404, "The description is disabled.")],
        },
    }
}
