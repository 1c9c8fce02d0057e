//! Routes with which administrators manage assignments and operators.

use actix_web::http::Method;
use pia_policy::Feature;
use pia_web::{Docs, ResponseDoc, Route, wire};

use super::assignments::BOUNDS;
use super::client_policies::{self, admin_docs, proved, read};
use super::personas::IDS_BODY;
use super::{KIB, MIB};
use crate::admin::personas::EntryGroupsRequest;
use crate::admin::{assignments, operator_webhooks, operators, schedules};
use crate::auth;

type Handler = fn(actix_web::Route) -> actix_web::Route;

/// Body limit for a skill of 50 steps.
const SKILL_BODY: usize = 2 * MIB;
const OPERATORS: &str = "/api/admin/operators";
const OPERATOR: &str = "/api/admin/operators/{id}";
const WEBHOOK: &str = "/api/admin/operators/{id}/webhook";
const UNKNOWN: (u16, &str) = (404, "There is no such operator: `not_found`.");
const CONFLICT: (u16, &str) = (
    409,
    "Another operator has a skill of this name: `name_taken`. Or the server ships the skill: \
     `operator_built_in`.",
);

pub(super) fn routes() -> Vec<Route> {
    let list = ResponseDoc::Part(wire::<assignments::AdminAssignments>, BOUNDS);
    let queue = ResponseDoc::Json(wire::<assignments::AssignmentQueue>);
    let operators = ResponseDoc::List(wire::<operators::OperatorResponse>);
    let deliveries = ResponseDoc::List(wire::<operator_webhooks::WebhookDeliveryResponse>);
    vec![
        read(
            "/api/admin/assignments",
            admin_docs("Lists the assignments of all users, newest first.", None, list, &[]),
            |route| route.to(assignments::list),
        ),
        terminate(),
        read(
            "/api/admin/assignments/queue",
            admin_docs("Returns the state of the queue, and the workers.", None, queue, &[]),
            |route| route.to(assignments::queue),
        ),
        list_schedules(),
        read(
            OPERATORS,
            admin_docs("Lists the operators with their skills and groups.", None, operators, &[]),
            |route| route.to(operators::list),
        ),
        create(),
        update(),
        grant(),
        delete(),
        put_webhook(),
        delete_webhook(),
        read(
            "/api/admin/operators/{id}/webhook/deliveries",
            admin_docs(
                "Lists the latest 100 deliveries to a webhook.",
                None,
                deliveries,
                &[UNKNOWN],
            ),
            |route| route.to(operator_webhooks::deliveries),
        ),
    ]
}

/// Returns a row that changes operators, for which the licence must include the
/// AI proxy.
fn write(
    method: Method,
    path: &'static str,
    docs: Docs,
    body_limit: usize,
    handler: Handler,
) -> Route {
    let feature = Some(Feature::AiProxy);
    Route { feature, ..client_policies::write(method, path, docs, body_limit, handler) }
}

fn terminate() -> Route {
    let docs = admin_docs(
        "Ends an unfinished assignment.",
        Some(wire::<assignments::TerminationRequest>),
        ResponseDoc::Json(wire::<assignments::TerminationResponse>),
        &[],
    );
    let path = "/api/admin/assignments/{id}/terminate";
    write(Method::POST, path, docs, 64 * KIB, |route| route.to(assignments::terminate))
}

fn list_schedules() -> Route {
    let docs = admin_docs(
        "Lists the schedules of all users, newest first, without their inputs.",
        Some(wire::<schedules::AdminScheduleQuery>),
        ResponseDoc::Page(wire::<schedules::AdminSchedulePage>),
        &[],
    );
    read("/api/admin/assignments/schedules", docs, |route| route.to(schedules::list))
}

fn create() -> Route {
    let docs = admin_docs(
        "Creates an operator, which is granted to no group.",
        Some(wire::<operators::OperatorRequest>),
        ResponseDoc::Created(wire::<operators::OperatorResponse>),
        &[CONFLICT],
    );
    write(Method::POST, OPERATORS, docs, SKILL_BODY, |route| route.to(operators::create))
}

fn update() -> Route {
    let docs = admin_docs(
        "Changes an operator.",
        Some(wire::<operators::OperatorRequest>),
        ResponseDoc::Json(wire::<auth::Done>),
        &[UNKNOWN, CONFLICT],
    );
    write(Method::PUT, OPERATOR, docs, SKILL_BODY, |route| route.to(operators::update))
}

fn grant() -> Route {
    let docs = admin_docs(
        "Replaces the groups that an operator is granted to.",
        Some(wire::<EntryGroupsRequest>),
        ResponseDoc::Json(wire::<auth::Done>),
        &[UNKNOWN],
    );
    let path = "/api/admin/operators/{id}/groups";
    write(Method::PUT, path, docs, IDS_BODY, |route| route.to(operators::grant))
}

fn delete() -> Route {
    let docs = admin_docs(
        "Deletes an operator. Its assignments go on.",
        None,
        ResponseDoc::Json(wire::<auth::Done>),
        &[UNKNOWN, CONFLICT],
    );
    proved(write(Method::DELETE, OPERATOR, docs, KIB, |route| route.to(operators::delete)))
}

fn put_webhook() -> Route {
    let docs = admin_docs(
        "Notifies a URL when an assignment of the operator has ended, with a new secret.",
        Some(wire::<operator_webhooks::WebhookRequest>),
        ResponseDoc::Json(wire::<operator_webhooks::WebhookResponse>),
        &[UNKNOWN],
    );
    proved(write(Method::PUT, WEBHOOK, docs, 64 * KIB, |route| route.to(operator_webhooks::put)))
}

fn delete_webhook() -> Route {
    let docs = admin_docs(
        "Removes the webhook of an operator, and deletes its deliveries.",
        None,
        ResponseDoc::Json(wire::<auth::Done>),
        &[UNKNOWN],
    );
    proved(write(Method::DELETE, WEBHOOK, docs, KIB, |route| route.to(operator_webhooks::delete)))
}
