//! Every route of SCIM, and who may call it.

use actix_web::http::Method;
use pia_identity::ScimScope;
use pia_policy::Feature;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route,
};

use crate::{discovery, groups, users};

const KIB: usize = 1024;
const USERS: &str = "/scim/v2/Users";
const USER: &str = "/scim/v2/Users/{id}";
const GROUPS: &str = "/scim/v2/Groups";
const GROUP: &str = "/scim/v2/Groups/{id}";
/// Body limit of a user, which has few attributes.
const USER_BODY: usize = 64 * KIB;
/// Body limit of a group, which may have tens of thousands of members.
const GROUP_BODY: usize = 8 * KIB * KIB;

type Handler = fn(actix_web::Route) -> actix_web::Route;

/// Returns all routes of this surface.
pub fn routes() -> Vec<Route> {
    let of_users = ScimScope::Users;
    let of_groups = ScimScope::Groups;
    vec![
        open("/scim/v2/ServiceProviderConfig", |it| it.to(discovery::service_provider_config)),
        open("/scim/v2/ResourceTypes", |it| it.to(discovery::resource_types)),
        open("/scim/v2/ResourceTypes/{name}", |it| it.to(discovery::resource_type)),
        open("/scim/v2/Schemas", |it| it.to(discovery::schemas)),
        open("/scim/v2/Schemas/{name}", |it| it.to(discovery::schema)),
        read(USERS, of_users, |it| it.to(users::list)),
        read(USER, of_users, |it| it.to(users::show)),
        write(Method::POST, USERS, of_users, USER_BODY, |it| it.to(users::create)),
        write(Method::PUT, USER, of_users, USER_BODY, |it| it.to(users::replace)),
        write(Method::PATCH, USER, of_users, USER_BODY, |it| it.to(users::modify)),
        write(Method::DELETE, USER, of_users, KIB, |it| it.to(users::delete)),
        read(GROUPS, of_groups, |it| it.to(groups::list)),
        read(GROUP, of_groups, |it| it.to(groups::show)),
        write(Method::POST, GROUPS, of_groups, GROUP_BODY, |it| it.to(groups::create)),
        write(Method::PUT, GROUP, of_groups, GROUP_BODY, |it| it.to(groups::replace)),
        write(Method::PATCH, GROUP, of_groups, GROUP_BODY, |it| it.to(groups::modify)),
        write(Method::DELETE, GROUP, of_groups, KIB, |it| it.to(groups::delete)),
    ]
}

/// Returns a row that needs no token, since it only describes the server.
fn open(path: &'static str, handler: Handler) -> Route {
    Route {
        access: Access::Anonymous,
        credentials: AcceptedCredentials::Session,
        ..read(path, ScimScope::Users, handler)
    }
}

fn read(path: &'static str, scope: ScimScope, handler: Handler) -> Route {
    Route { licensing: Licensing::MayHaveEnded, ..write(Method::GET, path, scope, KIB, handler) }
}

fn write(
    method: Method,
    path: &'static str,
    scope: ScimScope,
    body_limit: usize,
    handler: Handler,
) -> Route {
    Route {
        method,
        path,
        access: Access::Scim(scope),
        credentials: AcceptedCredentials::ScimToken,
        accounts: AccountScope::Complete,
        licensing: Licensing::InForce,
        feature: Some(Feature::GroupManagement),
        rate_limit: RateLimit::AtGate(Budget::Scim),
        // A token belongs to no account: calls count against its address.
        counted_against: CountedAgainst::Caller,
        body_limit,
        document: OpenApiDocument::Own,
        proof_check: ProofCheck::InHandler,
        handler,
        docs: Docs {
            tag: "scim",
            summary: "SCIM 2.0, which describes itself.",
            request: None,
            answer: ResponseDoc::Other("application/scim+json"),
            refusals: &[],
        },
    }
}
