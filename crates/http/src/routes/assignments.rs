//! Routes of assignments.

use actix_web::http::Method;
use pia_policy::Feature;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, Parameter, ProofCheck, RateLimit, ResponseDoc, Route, wire,
};
use serde_json::json;

use super::{KIB, MIB};
use crate::assignments;

/// Body limit for an envelope of 36,000 characters within a string, all of them
/// escaped twice.
pub(super) const ENVELOPE_BODY: usize = MIB;
const ASSIGNMENTS: &str = "/api/assignments";
const ASSIGNMENT: &str = "/api/assignments/{id}";
const UNKNOWN: (u16, &str) = (404, "The caller has no such assignment: `not_found`.");
/// Query parameters of lists.
pub(super) const BOUNDS: &[Parameter] = &[
    Parameter {
        name: "skip",
        description: "Number of entries that are left out.",
        schema: || json!({ "type": "integer", "minimum": 0, "default": 0 }),
    },
    Parameter {
        name: "limit",
        description: "Maximum number of entries; a larger one counts as 200.",
        schema: || json!({ "type": "integer", "minimum": 1, "maximum": 200, "default": 50 }),
    },
];

pub(super) fn routes() -> Vec<Route> {
    vec![
        enqueue(),
        read(
            ASSIGNMENTS,
            "Lists the caller's assignments, newest first, without their contents.",
            ResponseDoc::Part(wire::<assignments::AssignmentList>, BOUNDS),
            &[],
            |route| route.to(assignments::list),
        ),
        read(
            "/api/assignments/skills",
            "Lists the skills that are granted to the caller.",
            ResponseDoc::List(wire::<assignments::SkillItem>),
            &[],
            |route| route.to(assignments::skills),
        ),
        read(
            ASSIGNMENT,
            "Returns an assignment with its contents and events.",
            ResponseDoc::Json(wire::<assignments::AssignmentResponse>),
            &[UNKNOWN],
            |route| route.to(assignments::show),
        ),
        cancel(),
        collect(),
    ]
}

/// Creates the row of a route that reads for its caller.
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
        access: Access::Bearer,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Complete,
        licensing: Licensing::MayHaveEnded,
        feature: Some(Feature::AiProxy),
        rate_limit: RateLimit::AtGate(Budget::Sync),
        counted_against: CountedAgainst::Caller,
        body_limit: 0,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        handler,
        docs: Docs { tag: "assignments", summary, request: None, answer, refusals },
    }
}

fn enqueue() -> Route {
    const REFUSED: (u16, &str) = (
        400,
        "The input is refused: `invalid_envelope`, `unsupported_schema_version`, \
         `envelope_too_large`, `unknown_entity_type`, `undeclared_entity_type`. Or the skill is \
         not granted to the caller: `skill_not_granted`.",
    );

    const TOO_MANY: (u16, &str) =
        (429, "The caller has too many unfinished assignments: `too_many_assignments`.");

    const OFF: (u16, &str) = (
        503,
        "Assignments are switched off: `assignments_disabled`. Or the workflow could not be \
         started: `assignment_not_started`. Or the server is overloaded.",
    );

    let row = read(
        ASSIGNMENTS,
        "Hands over a long task, whose result is collected later.",
        ResponseDoc::Accepted(wire::<assignments::AssignmentAccepted>),
        &[REFUSED, TOO_MANY, OFF],
        |route| route.to(assignments::enqueue),
    );
    let docs = Docs { request: Some(wire::<assignments::AssignmentRequest>), ..row.docs };
    let licensing = Licensing::InForce;

    Route { method: Method::POST, licensing, body_limit: ENVELOPE_BODY, docs, ..row }
}

fn cancel() -> Route {
    let row = read(
        "/api/assignments/{id}/cancel",
        "Cancels an unfinished assignment.",
        ResponseDoc::Nothing,
        &[(404, "The caller has no such unfinished assignment: `not_found`.")],
        |route| route.to(assignments::cancel),
    );
    Route { method: Method::POST, body_limit: KIB, ..row }
}

fn collect() -> Route {
    let row = read(
        "/api/assignments/{id}/collect",
        "Deletes the server's copy of what an ended assignment contains.",
        ResponseDoc::Nothing,
        &[UNKNOWN, (409, "The assignment has not ended: `assignment_unfinished`.")],
        |route| route.to(assignments::collect),
    );
    Route { method: Method::POST, body_limit: KIB, ..row }
}
