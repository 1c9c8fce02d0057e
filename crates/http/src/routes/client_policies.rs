//! Routes of client policies.

use actix_web::http::Method;
use pia_identity::Role;
use pia_policy::Feature;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route, WireType, wire,
};

use super::KIB;
use crate::admin::{client_policies as policies, policy_versions as versions};
use crate::auth;

const ADMINS: &[Role] = &[Role::Admin];
/// Body limit for a document of 64 KiB in which every character is escaped.
const POLICY_BODY: usize = 512 * KIB;
const UNKNOWN: (u16, &str) = (404, "There is no such client policy: `not_found`.");
const UNKNOWN_VERSION: (u16, &str) = (404, "There is no such policy or version: `not_found`.");
const UNKNOWN_GROUP: (u16, &str) = (404, "There is no such group: `not_found`.");

pub(super) fn routes() -> Vec<Route> {
    let mut routes = vec![list(), show(), groups(), create(), replace(), delete()];
    routes.extend([versions(), version(), compare(), restore(), of_group(), assign()]);
    routes
}

/// Returns an admin route that reads.
pub(super) fn read(
    path: &'static str,
    docs: Docs,
    handler: fn(actix_web::Route) -> actix_web::Route,
) -> Route {
    Route {
        method: Method::GET,
        path,
        access: Access::Console(ADMINS),
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::ConsoleCookie,
        accounts: AccountScope::Complete,
        feature: None,
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Admin,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        body_limit: 0,
        handler,
        docs,
    }
}

/// Row that administrators read, and managers of organisations for their own
/// group.
pub(super) fn read_of_group(
    path: &'static str,
    docs: Docs,
    handler: fn(actix_web::Route) -> actix_web::Route,
) -> Route {
    Route { access: Access::GroupConsole(&[Role::OrgManager]), ..read(path, docs, handler) }
}

/// Returns an admin route that changes published content.
pub(super) fn write(
    method: Method,
    path: &'static str,
    docs: Docs,
    body_limit: usize,
    handler: fn(actix_web::Route) -> actix_web::Route,
) -> Route {
    Route {
        method,
        licensing: Licensing::InForce,
        feature: Some(Feature::GroupManagement),
        body_limit,
        ..read(path, docs, handler)
    }
}

/// Returns a row that needs a recent proof of the session's owner: it is hard to undo, hands out
/// a secret, gives someone more rights or credits, or changes what the server or clients enforce
/// or run.
pub(super) fn proved(route: Route) -> Route {
    Route { proof_check: ProofCheck::AtGate, ..route }
}

/// Opens rows to administrators who owe the verification of their address, as the pages of the
/// console on the same subject.
pub(super) fn open_to_unverified(rows: Vec<Route>) -> Vec<Route> {
    rows.into_iter().map(|it| Route { accounts: AccountScope::Declared, ..it }).collect()
}

/// Returns the documentation of an admin route.
pub(super) fn admin_docs(
    summary: &'static str,
    request: Option<WireType>,
    answer: ResponseDoc,
    refusals: &'static [(u16, &'static str)],
) -> Docs {
    Docs { tag: "admin", summary, request, answer, refusals }
}

fn list() -> Route {
    let answer = ResponseDoc::List(wire::<policies::ClientPolicySummary>);
    let docs = admin_docs("Lists the client policies, by name.", None, answer, &[]);
    read("/api/admin/client-policies", docs, |route| route.to(policies::list))
}

fn show() -> Route {
    let answer = ResponseDoc::Json(wire::<policies::ClientPolicyResponse>);
    let docs = admin_docs("Returns a client policy.", None, answer, &[UNKNOWN]);
    read("/api/admin/client-policies/{id}", docs, |route| route.to(policies::show))
}

fn groups() -> Route {
    let answer = ResponseDoc::List(wire::<policies::PolicyGroup>);
    let docs = admin_docs(
        "Lists the groups that a client policy is assigned to.",
        None,
        answer,
        &[UNKNOWN],
    );
    read("/api/admin/client-policies/{id}/groups", docs, |route| route.to(policies::groups))
}

fn create() -> Route {
    let docs = admin_docs(
        "Creates a client policy.",
        Some(wire::<policies::ClientPolicyRequest>),
        ResponseDoc::Created(wire::<policies::ClientPolicyCreated>),
        &[(409, "Another client policy has this name: `name_taken`.")],
    );
    write(Method::POST, "/api/admin/client-policies", docs, POLICY_BODY, |route| {
        route.to(policies::create)
    })
}

fn replace() -> Route {
    let docs = admin_docs(
        "Replaces name, description and document of a client policy.",
        Some(wire::<policies::ClientPolicyRequest>),
        ResponseDoc::Json(wire::<auth::Done>),
        &[
            UNKNOWN,
            (409, "Another client policy has this name: `name_taken`."),
            (412, "The policy is not the version that `If-Match` names: `precondition_failed`."),
        ],
    );

    proved(write(Method::PUT, "/api/admin/client-policies/{id}", docs, POLICY_BODY, |route| {
        route.to(policies::replace)
    }))
}

fn delete() -> Route {
    let docs = admin_docs(
        "Deletes a client policy that isn't assigned to a group.",
        None,
        ResponseDoc::Json(wire::<auth::Done>),
        &[
            UNKNOWN,
            (
                409,
                "The policy is assigned to groups: `client_policy_in_use`, with their \
                          names in `groups`.",
            ),
        ],
    );

    proved(write(Method::DELETE, "/api/admin/client-policies/{id}", docs, KIB, |route| {
        route.to(policies::delete)
    }))
}

fn versions() -> Route {
    let answer = ResponseDoc::List(wire::<versions::PolicyVersionSummary>);
    let docs =
        admin_docs("Lists the versions of a policy, newest first.", None, answer, &[UNKNOWN]);
    read("/api/admin/client-policies/{id}/versions", docs, |route| route.to(versions::list))
}

fn version() -> Route {
    let answer = ResponseDoc::Json(wire::<versions::PolicyVersionResponse>);
    let docs =
        admin_docs("Returns a version of a client policy.", None, answer, &[UNKNOWN_VERSION]);
    read("/api/admin/client-policies/{id}/versions/{number}", docs, |route| {
        route.to(versions::show)
    })
}

fn compare() -> Route {
    let docs = admin_docs(
        "Compares a version of a client policy with another one.",
        Some(wire::<versions::ComparisonQuery>),
        ResponseDoc::Json(wire::<versions::ComparisonResponse>),
        &[UNKNOWN_VERSION],
    );
    read("/api/admin/client-policies/{id}/versions/{number}/comparison", docs, |route| {
        route.to(versions::compare)
    })
}

fn restore() -> Route {
    let docs = admin_docs(
        "Replaces a client policy by one of its versions.",
        None,
        ResponseDoc::Json(wire::<auth::Done>),
        &[
            UNKNOWN_VERSION,
            (409, "Another client policy has its name by now: `name_taken`."),
            (412, "The policy is not the version that `If-Match` names: `precondition_failed`."),
        ],
    );

    let path = "/api/admin/client-policies/{id}/versions/{number}/restore";
    proved(write(Method::POST, path, docs, KIB, |route| route.to(versions::restore)))
}

fn of_group() -> Route {
    let answer = ResponseDoc::Json(wire::<policies::GroupClientPolicy>);
    let docs = admin_docs("Returns the client policy of a group.", None, answer, &[UNKNOWN_GROUP]);
    read_of_group("/api/admin/groups/{id}/client-policy", docs, |route| {
        route.to(policies::of_group)
    })
}

fn assign() -> Route {
    let docs = admin_docs(
        "Assigns a client policy to a group, or removes it.",
        Some(wire::<policies::AssignPolicyRequest>),
        ResponseDoc::Json(wire::<policies::GroupClientPolicy>),
        &[(400, "There is no such client policy: `client_policy_not_found`."), UNKNOWN_GROUP],
    );
    proved(write(Method::PUT, "/api/admin/groups/{id}/client-policy", docs, 4 * KIB, |route| {
        route.to(policies::assign)
    }))
}
