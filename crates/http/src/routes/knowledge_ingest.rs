//! Routes with which programs store documents, with the service key. Without a
//! configured key they do not exist.

use actix_web::http::Method;
use pia_policy::Feature;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route, wire,
};

use super::KIB;
use super::knowledge::{CONFLICT, DOCUMENT_BODY, OFF, TOO_LARGE, documents};
use crate::knowledge;

const DOCUMENTS: &str = "/api/kb/{kbId}/documents";
const DOCUMENT: &str = "/api/kb/{kbId}/documents/{id}";
const UNKNOWN_BASE: (u16, &str) =
    (404, "There is no such base: `not_found`. Or no service key is configured.");
const UNKNOWN: (u16, &str) =
    (404, "The base has no such document: `not_found`. Or no service key is configured.");

pub(super) fn routes() -> Vec<Route> {
    vec![list(), show(), ingest(), delete()]
}

fn list() -> Route {
    Route {
        method: Method::GET,
        path: DOCUMENTS,
        access: Access::Service,
        credentials: AcceptedCredentials::ServiceKey,
        accounts: AccountScope::Complete,
        licensing: Licensing::MayHaveEnded,
        feature: Some(Feature::Knowledge),
        rate_limit: RateLimit::AtGate(Budget::Global),
        // The key belongs to no account: its address pays.
        counted_against: CountedAgainst::Caller,
        body_limit: 0,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        handler: |route| route.to(knowledge::ingested_documents),
        docs: Docs {
            tag: "knowledge",
            summary: "Lists the documents of a knowledge base of any group, by title.",
            request: None,
            answer: documents(),
            refusals: &[UNKNOWN_BASE, OFF],
        },
    }
}

fn show() -> Route {
    Route {
        path: DOCUMENT,
        handler: |route| route.to(knowledge::ingested_document),
        docs: Docs {
            tag: "knowledge",
            summary: "Returns a document with the state of its ingestion.",
            request: None,
            answer: ResponseDoc::Json(wire::<knowledge::KnowledgeDocument>),
            refusals: &[UNKNOWN, OFF],
        },
        ..list()
    }
}

fn ingest() -> Route {
    Route {
        method: Method::POST,
        licensing: Licensing::InForce,
        body_limit: DOCUMENT_BODY,
        handler: |route| route.to(knowledge::ingest),
        docs: Docs {
            tag: "knowledge",
            summary: "Stores a file as a document, or replaces that of the same source, and \
                      ingests it, unless it is the same.",
            request: Some(wire::<knowledge::IngestRequest>),
            answer: ResponseDoc::AcceptedOrUnchanged(wire::<knowledge::DocumentSubmission>),
            refusals: &[UNKNOWN_BASE, CONFLICT, TOO_LARGE, OFF],
        },
        ..list()
    }
}

fn delete() -> Route {
    Route {
        method: Method::DELETE,
        licensing: Licensing::InForce,
        body_limit: KIB,
        handler: |route| route.to(knowledge::delete_ingested),
        docs: Docs {
            tag: "knowledge",
            summary: "Deletes a document with its chunks.",
            request: None,
            answer: ResponseDoc::Nothing,
            refusals: &[UNKNOWN, OFF],
        },
        ..show()
    }
}
