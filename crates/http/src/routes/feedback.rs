//! Routes of feedback on answers, and of its triage.

use actix_web::http::Method;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route, wire,
};

use super::client_policies::{admin_docs, read, write};
use super::{KIB, MIB};
use crate::admin::feedback as triage;
use crate::feedback;

const REPORT: &str = "/api/admin/ai-feedback/{id}";
const UNKNOWN: (u16, &str) = (404, "There is no such report: `not_found`.");

pub(super) fn routes() -> Vec<Route> {
    vec![submit(), list(), show(), update()]
}

fn submit() -> Route {
    Route {
        method: Method::POST,
        path: "/api/ai-feedback",
        access: Access::Bearer,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Complete,
        feature: None,
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Feedback),
        body_limit: 2 * MIB,
        handler: |route| route.to(feedback::submit),
        docs: Docs {
            tag: "utility",
            summary: "Reports an answer of the assistant, or rates it.",
            request: Some(wire::<feedback::AiFeedbackRequest>),
            answer: ResponseDoc::Accepted(wire::<feedback::AiFeedbackReceipt>),
            refusals: &[],
        },
    }
}

fn list() -> Route {
    let answer = ResponseDoc::Page(wire::<triage::FeedbackPage>);
    let docs = admin_docs(
        "Lists the reports on answers, newest first.",
        Some(wire::<triage::FilterQuery>),
        answer,
        &[],
    );
    read("/api/admin/ai-feedback", docs, |route| route.to(triage::list))
}

fn show() -> Route {
    let answer = ResponseDoc::Json(wire::<triage::FeedbackResponse>);
    let docs = admin_docs("Returns a report on an answer.", None, answer, &[UNKNOWN]);
    read(REPORT, docs, |route| route.to(triage::show))
}

fn update() -> Route {
    let docs = admin_docs(
        "Changes state and note of a report: what is omitted stays.",
        Some(wire::<triage::TriageRequest>),
        ResponseDoc::Json(wire::<triage::FeedbackResponse>),
        &[
            UNKNOWN,
            (412, "The report is not the version that `If-Match` names: `precondition_failed`."),
        ],
    );
    let route = write(Method::PATCH, REPORT, docs, 32 * KIB, |route| route.to(triage::triage));
    Route { feature: None, ..route }
}
