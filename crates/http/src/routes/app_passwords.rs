//! Routes of app passwords.

use actix_web::http::Method;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route, wire,
};

use super::KIB;
use crate::auth;

pub(super) fn routes() -> Vec<Route> {
    vec![list(), create(), revoke()]
}

fn list() -> Route {
    Route {
        method: Method::GET,
        path: "/auth/app-passwords",
        access: Access::Owner,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Any,
        feature: None,
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        body_limit: 0,
        handler: |route| route.to(auth::app_passwords),
        docs: Docs {
            tag: "auth",
            summary: "Lists the caller's app passwords.",
            request: None,
            answer: ResponseDoc::Json(wire::<auth::AppPasswordsResponse>),
            refusals: &[],
        },
    }
}

fn create() -> Route {
    Route {
        method: Method::POST,
        path: "/auth/app-passwords",
        access: Access::Owner,
        licensing: Licensing::InForce,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Any,
        feature: None,
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        body_limit: 256 * KIB,
        handler: |route| route.to(auth::create_app_password),
        docs: Docs {
            tag: "auth",
            summary: "Creates an app password for a program that can't ask for a second factor.",
            request: Some(wire::<auth::AppPasswordRequest>),
            answer: ResponseDoc::Json(wire::<auth::CreatedAppPasswordResponse>),
            refusals: &[
                (
                    403,
                    "The proof is wrong: `invalid_proof`. Or the account has none and the \
                     sign-in is older than ten minutes: `fresh_sign_in_required`.",
                ),
                (409, "The account has the maximum of 20: `app_password_limit_reached`."),
            ],
        },
    }
}

fn revoke() -> Route {
    Route {
        method: Method::DELETE,
        path: "/auth/app-passwords/{appPasswordId}",
        access: Access::Owner,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Any,
        feature: None,
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        // Not read: some clients send an empty object with every request.
        body_limit: KIB,
        handler: |route| route.to(auth::revoke_app_password),
        docs: Docs {
            tag: "auth",
            summary: "Revokes an app password, and ends the sessions that began with it.",
            request: None,
            answer: ResponseDoc::Json(wire::<auth::Done>),
            refusals: &[(404, "The caller has no such app password: `not_found`.")],
        },
    }
}
