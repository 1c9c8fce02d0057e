//! Routes of administration.

use actix_web::http::Method;
use pia_identity::Role;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route, wire,
};

use super::KIB;
use super::account_security::PROOF_BODY;
use crate::{admin, auth};

/// Roles that may use the console.
const ALL_ROLES: &[Role] = &[Role::KbManager, Role::OrgManager, Role::Admin];

pub(super) fn routes() -> Vec<Route> {
    vec![login(), logout(), session(), prove(), description(), problems(), maintenance(), devices()]
}

fn login() -> Route {
    Route {
        method: Method::POST,
        path: "/admin/login",
        access: Access::Anonymous,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Any,
        feature: None,
        counted_against: CountedAgainst::Address,
        document: OpenApiDocument::Admin,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::LocalAuth),
        body_limit: 64 * KIB,
        handler: |route| route.to(admin::login),
        docs: Docs {
            tag: "admin",
            summary: "Signs in to the console; its cookie opens the admin routes.",
            request: Some(wire::<admin::AdminLoginRequest>),
            answer: ResponseDoc::Json(wire::<admin::AdminSessionResponse>),
            refusals: &[
                (
                    401,
                    "Wrong credentials: `invalid_credentials`; or a second factor is needed: \
                     `mfa_required` with `mfaToken` and `methods`.",
                ),
                (
                    403,
                    "The account has no administrative role: `forbidden`; or it has no second \
                     factor: `second_factor_required`.",
                ),
            ],
        },
    }
}

fn logout() -> Route {
    Route {
        method: Method::POST,
        path: "/admin/logout",
        body_limit: 0,
        handler: |route| route.to(admin::logout),
        docs: Docs {
            tag: "admin",
            summary: "Signs out of the console.",
            request: None,
            answer: ResponseDoc::Json(wire::<auth::Done>),
            refusals: &[(403, "The CSRF token is missing or wrong: `csrf_rejected`.")],
        },
        ..session()
    }
}

fn session() -> Route {
    Route {
        method: Method::GET,
        path: "/api/admin/session",
        access: Access::Console(ALL_ROLES),
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::ConsoleCookie,
        accounts: AccountScope::Complete,
        feature: None,
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Admin,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        body_limit: 0,
        handler: |route| route.to(admin::session),
        docs: Docs {
            tag: "admin",
            summary: "Returns the account that is signed in to the console.",
            request: None,
            answer: ResponseDoc::Json(wire::<admin::AdminSession>),
            refusals: &[],
        },
    }
}

fn prove() -> Route {
    Route {
        method: Method::POST,
        path: "/api/admin/session/proof",
        body_limit: PROOF_BODY,
        handler: |route| route.to(admin::prove),
        docs: Docs {
            summary: "Verifies a proof that the session is its owner's. For ten minutes it is as if \
                      it had just begun.",
            request: Some(wire::<admin::SessionProofRequest>),
            answer: ResponseDoc::Json(wire::<auth::Done>),
            refusals: &[(403, "The proof is wrong: `invalid_proof`, `invalid_passkey`.")],
            ..session().docs
        },
        ..session()
    }
}

fn description() -> Route {
    Route {
        path: "/api/admin/openapi.json",
        handler: |route| route.to(admin::description),
        docs: Docs {
            summary: "Returns this description of the admin routes.",
            answer: ResponseDoc::Other("application/json"),
            ..session().docs
        },
        ..session()
    }
}

fn problems() -> Route {
    Route {
        path: "/api/admin/problems",
        access: Access::Console(&[Role::Admin]),
        handler: |route| route.to(admin::problems::list),
        docs: Docs {
            summary: "Lists what needs attention: problems of the server and of the instance that \
                      answers.",
            answer: ResponseDoc::List(wire::<admin::problems::ProblemResponse>),
            ..session().docs
        },
        ..session()
    }
}

fn maintenance() -> Route {
    Route {
        path: "/api/admin/maintenance",
        handler: |route| route.to(admin::maintenance::list),
        docs: Docs {
            summary: "Lists the maintenance tasks, each with the last run of any instance.",
            answer: ResponseDoc::List(wire::<admin::maintenance::MaintenanceTaskResponse>),
            ..session().docs
        },
        ..problems()
    }
}

fn devices() -> Route {
    Route {
        path: "/api/admin/devices",
        handler: |route| route.to(admin::devices::list),
        docs: Docs {
            summary: "Lists the devices of end-to-end encrypted accounts.",
            request: Some(wire::<admin::devices::DeviceQuery>),
            answer: ResponseDoc::Page(wire::<admin::devices::DevicePage>),
            ..session().docs
        },
        ..problems()
    }
}
