//! The route of MCP, and who may call it.

use actix_web::http::Method;
use pia_policy::Feature;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route,
};

use crate::endpoint;

/// Body limit of a message: a question is short, and metadata of clients are
/// little longer.
const MESSAGE_BODY: usize = 1024 * 1024;

/// Returns all routes of this surface.
///
/// `GET` would open a stream and `DELETE` would end a session; without either,
/// the specification asks for status 405, which the route table answers.
pub fn routes() -> Vec<Route> {
    vec![Route {
        method: Method::POST,
        path: "/mcp",
        access: Access::Bearer,
        credentials: AcceptedCredentials::SessionOrApiKey,
        accounts: AccountScope::Complete,
        // `search`, which may call a provider, checks that the licence is in force.
        licensing: Licensing::MayHaveEnded,
        feature: Some(Feature::Knowledge),
        rate_limit: RateLimit::AtGate(Budget::Global),
        counted_against: CountedAgainst::Caller,
        body_limit: MESSAGE_BODY,
        document: OpenApiDocument::Own,
        proof_check: ProofCheck::InHandler,
        handler: |route| route.to(endpoint::post),
        docs: Docs {
            tag: "mcp",
            summary: "Model Context Protocol, which describes itself.",
            request: None,
            answer: ResponseDoc::Other("application/json"),
            refusals: &[],
        },
    }]
}
