//! Routes of an account's export and deletion.

use actix_web::http::Method;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, CountedAgainst, Docs, Licensing,
    OpenApiDocument, ProofCheck, RateLimit, ResponseDoc, Route, wire,
};

use super::KIB;
use crate::auth::account;

pub(super) fn routes() -> Vec<Route> {
    vec![show(), export(), delete()]
}

fn show() -> Route {
    Route {
        path: "/auth/account",
        access: Access::Bearer,
        handler: |route| route.to(account::show),
        docs: Docs {
            summary: "Returns the caller's account and its storage.",
            answer: ResponseDoc::Json(wire::<account::AccountResponse>),
            refusals: &[],
            ..export().docs
        },
        ..export()
    }
}

fn export() -> Route {
    Route {
        method: Method::GET,
        path: "/auth/account/export",
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
        handler: |route| route.to(account::export),
        docs: Docs {
            tag: "auth",
            summary: "Exports all data of the caller: a ZIP of JSON files, or one document with \
                      `Accept: application/json`.",
            request: None,
            answer: ResponseDoc::Other("application/zip"),
            refusals: &[(403, "The session began with an app password: `app_password_refused`.")],
        },
    }
}

fn delete() -> Route {
    Route {
        method: Method::POST,
        path: "/auth/account/delete",
        access: Access::OwnerOrGone,
        licensing: Licensing::MayHaveEnded,
        credentials: AcceptedCredentials::Session,
        accounts: AccountScope::Any,
        feature: None,
        counted_against: CountedAgainst::Caller,
        document: OpenApiDocument::Public,
        proof_check: ProofCheck::InHandler,
        rate_limit: RateLimit::AtGate(Budget::Global),
        body_limit: 16 * KIB,
        handler: |route| route.to(account::delete),
        docs: Docs {
            tag: "auth",
            summary: "Deletes the caller's account and all of its data.",
            request: Some(wire::<account::DeleteRequest>),
            answer: ResponseDoc::Json(wire::<account::DeleteResponse>),
            refusals: &[
                (
                    400,
                    "`confirm` or `password` is missing; see `errors`. Or the password is \
                     wrong: `invalid_password`.",
                ),
                (
                    403,
                    "The session began with an app password: `app_password_refused`; or the \
                       account has no password and the sign-in is older than ten minutes: \
                       `fresh_sign_in_required`.",
                ),
                (404, "The account has been deleted: `user_not_found`."),
                (409, "The caller is the only administrator: `last_admin`."),
            ],
        },
    }
}
