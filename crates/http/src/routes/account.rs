//! Routes of an account's export and deletion.

use actix_web::http::Method;
use pia_web::{
    AcceptedCredentials, Access, AccountScope, Budget, Docs, Document, Licensing, PaidBy,
    RateLimit, ResponseDoc, Route, wire,
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
            summary: "Tells how much the caller stores, and may store.",
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
        payer: PaidBy::Caller,
        document: Document::Public,
        charge: RateLimit::AtGate(Budget::Global),
        body_limit: 0,
        handler: |route| route.to(account::export),
        docs: Docs {
            tag: "auth",
            summary: "Gives all that is kept of the caller: a ZIP of JSON files, or with `Accept: \
                      application/json` one document.",
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
        payer: PaidBy::Caller,
        document: Document::Public,
        charge: RateLimit::AtGate(Budget::Global),
        body_limit: 16 * KIB,
        handler: |route| route.to(account::delete),
        docs: Docs {
            tag: "auth",
            summary: "Deletes the caller's account and all that is kept of them.",
            request: Some(wire::<account::DeleteRequest>),
            answer: ResponseDoc::Json(wire::<account::DeleteResponse>),
            refusals: &[
                (
                    400,
                    "`confirm` or `password` is missing, or the password is wrong: \
                       `invalid_password`.",
                ),
                (
                    403,
                    "The session began with an app password: `app_password_refused`; or the \
                       account has no password and the sign-in is older than ten minutes: \
                       `fresh_sign_in_required`.",
                ),
                (404, "The account was deleted before: `user_not_found`."),
                (409, "The caller is the only administrator: `last_admin`."),
            ],
        },
    }
}
