//! Routes with which managers maintain the knowledge bases of their group.

use actix_web::http::Method;
use pia_policy::Feature;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route, wire,
};

use super::{KIB, MIB};
use crate::knowledge;

/// Body limit for a text of 10 MiB in JSON, half of it escaped, or for a file
/// of 10 MiB in Base64. The domain limits the file itself.
pub(super) const DOCUMENT_BODY: usize = 24 * MIB;
/// Body limit for a prompt of 8,000 characters, all of them escaped.
const PROMPT_BODY: usize = 64 * KIB;
const BASES: &str = "/api/kb-manager/knowledge-bases";
const STATS: &str = "/api/kb-manager/knowledge-bases/{kbId}/stats";
const PROMPT: &str = "/api/kb-manager/knowledge-bases/{kbId}/prompt";
const DOCUMENTS: &str = "/api/kb-manager/knowledge-bases/{kbId}/documents";
const DOCUMENT: &str = "/api/kb-manager/knowledge-bases/{kbId}/documents/{docId}";
const CONTENT: &str = "/api/kb-manager/knowledge-bases/{kbId}/documents/{docId}/content";
const CITED: &str = "/kb/{documentId}";
const RETRY: &str = "/api/kb-manager/knowledge-bases/{kbId}/documents/{docId}/retry";

pub(super) const NO_MANAGER: (u16, &str) = (
    403,
    "The caller does not manage knowledge bases: `not_a_kb_manager`. Or the licence or the \
     account doesn't allow it.",
);
const UNKNOWN_BASE: (u16, &str) = (404, "The caller's group has no such base: `not_found`.");
const UNKNOWN: (u16, &str) = (404, "The caller's group has no such document: `not_found`.");
pub(super) const TOO_LARGE: (u16, &str) = (
    413,
    "The document is larger than 10 MiB: `document_too_large`. Or the body is longer than \
     `x-body-limit`.",
);
pub(super) const OFF: (u16, &str) = (
    503,
    "Knowledge bases are switched off: `knowledge_disabled`. Or the server is overloaded, or its \
     database is unavailable.",
);
pub(super) const CONFLICT: (u16, &str) = (
    409,
    "A document of the base has this content: `duplicate_content`, with its `documentId`. Or the \
     owner of the base has used up a quota: `quota_exceeded`, with `resource`, `limit` and \
     `current`.",
);

pub(super) fn routes() -> Vec<Route> {
    vec![
        read(
            BASES,
            "Lists the knowledge bases of the caller's group, by name.",
            ResponseDoc::List(wire::<knowledge::KnowledgeBaseItem>),
            &[NO_MANAGER, OFF],
            |route| route.to(knowledge::bases),
        ),
        read(
            STATS,
            "Returns the numbers of a knowledge base.",
            stats(),
            &[NO_MANAGER, UNKNOWN_BASE, OFF],
            |route| route.to(knowledge::stats),
        ),
        read(
            DOCUMENTS,
            "Lists the documents of a knowledge base, by title.",
            documents(),
            &[NO_MANAGER, UNKNOWN_BASE, OFF],
            |route| route.to(knowledge::documents),
        ),
        read(
            CONTENT,
            "Returns the file of a document, with its own media type.",
            ResponseDoc::Other("application/octet-stream"),
            &[NO_MANAGER, UNKNOWN, OFF],
            |route| route.to(knowledge::content),
        ),
        read(
            PROMPT,
            "Returns the prompt that tells the model when to search a knowledge base.",
            ResponseDoc::Json(wire::<knowledge::KnowledgePrompt>),
            &[NO_MANAGER, UNKNOWN_BASE, OFF],
            |route| route.to(knowledge::prompt),
        ),
        set_prompt(),
        submit(),
        replace(),
        delete(),
        retry(),
        cited(),
    ]
}

/// Returns the response with the numbers of a base.
pub(super) fn stats() -> ResponseDoc {
    ResponseDoc::Json(wire::<knowledge::KnowledgeStats>)
}

/// Returns the response with the documents of a base.
pub(super) fn documents() -> ResponseDoc {
    ResponseDoc::List(wire::<knowledge::KnowledgeDocument>)
}

pub(super) fn read(
    path: &'static str,
    summary: &'static str,
    answer: ResponseDoc,
    refusals: &'static [(u16, &'static str)],
    handler: fn(actix_web::Route) -> actix_web::Route,
) -> Route {
    Route {
        method: Method::GET,
        path,
        access: Access::KbManager,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Complete,
        licensing: Licensing::MayHaveEnded,
        feature: Some(Feature::Knowledge),
        rate_limit: RateLimit::AtGate(Budget::Global),
        counted_against: CountedAgainst::Caller,
        body_limit: 0,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        handler,
        docs: Docs { tag: "knowledge", summary, request: None, answer, refusals },
    }
}

/// Returns the route that citations link to. Programs with an API key read them
/// too.
fn cited() -> Route {
    const UNKNOWN: (u16, &str) =
        (404, "The caller's group searches no base with this document: `not_found`.");
    let row = read(
        CITED,
        "Returns a document that an answer cites, with its own media type.",
        ResponseDoc::Other("application/octet-stream"),
        &[UNKNOWN, OFF],
        |route| route.to(knowledge::cited),
    );
    let credentials = AcceptedCredentials::SessionOrApiKey;
    Route { access: Access::Bearer, credentials, ..row }
}

fn set_prompt() -> Route {
    let row = read(
        PROMPT,
        "Replaces the prompt of a knowledge base; an empty one clears it.",
        ResponseDoc::Nothing,
        &[NO_MANAGER, UNKNOWN_BASE, OFF],
        |route| route.to(knowledge::set_prompt),
    );
    let docs = Docs { request: Some(wire::<knowledge::KnowledgePromptRequest>), ..row.docs };
    let licensing = Licensing::InForce;
    Route { method: Method::PUT, licensing, body_limit: PROMPT_BODY, docs, ..row }
}

fn submit() -> Route {
    let row = read(
        DOCUMENTS,
        "Stores a text as a document, or replaces that of the same source, and ingests it.",
        ResponseDoc::Accepted(wire::<knowledge::DocumentSubmission>),
        &[NO_MANAGER, UNKNOWN_BASE, CONFLICT, TOO_LARGE, OFF],
        |route| route.to(knowledge::submit),
    );
    let docs = Docs { request: Some(wire::<knowledge::DocumentRequest>), ..row.docs };
    let licensing = Licensing::InForce;
    Route { method: Method::POST, licensing, body_limit: DOCUMENT_BODY, docs, ..row }
}

fn replace() -> Route {
    let row = read(
        CONTENT,
        "Replaces the text of a document and ingests it, unless it is the same.",
        ResponseDoc::AcceptedOrUnchanged(wire::<knowledge::DocumentSubmission>),
        &[NO_MANAGER, UNKNOWN, CONFLICT, TOO_LARGE, OFF],
        |route| route.to(knowledge::replace),
    );
    let docs = Docs { request: Some(wire::<knowledge::DocumentContentRequest>), ..row.docs };
    let licensing = Licensing::InForce;
    Route { method: Method::PUT, licensing, body_limit: DOCUMENT_BODY, docs, ..row }
}

/// Returns the route that deletes a document. It needs no proof, unlike the form of the
/// console: the desktop client has none, and takes 403 for the end of the role.
fn delete() -> Route {
    let row = read(
        DOCUMENT,
        "Deletes a document. Searches don't find it any more.",
        ResponseDoc::Nothing,
        &[NO_MANAGER, UNKNOWN, OFF],
        |route| route.to(knowledge::delete),
    );
    Route { method: Method::DELETE, licensing: Licensing::InForce, body_limit: KIB, ..row }
}

fn retry() -> Route {
    const NOT_FAILED: (u16, &str) = (409, "The document has not failed: `document_not_failed`.");
    let row = read(
        RETRY,
        "Ingests a failed document again.",
        ResponseDoc::Accepted(wire::<knowledge::DocumentSubmission>),
        &[NO_MANAGER, UNKNOWN, NOT_FAILED, OFF],
        |route| route.to(knowledge::retry),
    );
    Route { method: Method::POST, licensing: Licensing::InForce, body_limit: KIB, ..row }
}
