//! The routes of the hub.

use actix_web::http::Method;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route,
};

use crate::endpoint;

type Handler = fn(actix_web::Route) -> actix_web::Route;

/// Returns all routes of this surface.
pub fn routes() -> Vec<Route> {
    vec![
        route(Method::POST, "/hubs/pod-uplink/negotiate", |it| it.to(endpoint::negotiate)),
        route(Method::GET, "/hubs/pod-uplink", |it| it.to(endpoint::connect)),
    ]
}

fn route(method: Method, path: &'static str, handler: Handler) -> Route {
    Route {
        method,
        path,
        access: Access::Pod,
        credentials: AcceptedCredentials::PodToken,
        accounts: AccountScope::Complete,
        licensing: Licensing::InForce,
        feature: None,
        rate_limit: RateLimit::AtGate(Budget::PodUplink),
        counted_against: CountedAgainst::Address,
        body_limit: 1024,
        document: OpenApiDocument::Own,
        proof_check: ProofCheck::InHandler,
        handler,
        docs: Docs {
            tag: "pods",
            summary: "Uplink hub of pods, in the SignalR protocol.",
            request: None,
            answer: ResponseDoc::Other("application/json"),
            refusals: &[],
        },
    }
}
