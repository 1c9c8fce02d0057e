//! Routes with which administrators see and change what secures a user's account.

use actix_web::http::Method;
use pia_web::{Docs, Licensing, ResponseDoc, Route, wire};

use super::KIB;
use super::client_policies::{admin_docs, proved, read, write};
use crate::admin::account_security as security;
use crate::auth;
use crate::auth::mfa::FreshProofRequest;

/// Body limit for a proof that the caller is the account's owner.
pub(super) const PROOF_BODY: usize = 64 * KIB;
/// Refusal of a caller who does not prove to be the account's owner.
pub(super) const NO_PROOF: (u16, &str) = (
    403,
    "The proof is wrong: `invalid_proof`. Or there is none and the sign-in is older than ten \
     minutes: `fresh_sign_in_required`.",
);
const UNKNOWN: (u16, &str) = (404, "There is no such user: `not_found`.");

pub(super) fn routes() -> Vec<Route> {
    vec![sessions(), end_sessions(), lift_wait(), reset_factor()]
}

fn sessions() -> Route {
    let answer = ResponseDoc::Page(wire::<auth::SessionsResponse>);
    let docs = admin_docs("Lists the sessions of a user, newest first.", None, answer, &[UNKNOWN]);
    read("/api/admin/users/{id}/sessions", docs, |route| route.to(security::sessions))
}

/// Returns a row that secures an account, also after the licence has expired.
fn secure(
    path: &'static str,
    docs: Docs,
    body_limit: usize,
    handler: fn(actix_web::Route) -> actix_web::Route,
) -> Route {
    let route = write(Method::POST, path, docs, body_limit, handler);
    Route { licensing: Licensing::MayHaveEnded, feature: None, ..route }
}

fn end_sessions() -> Route {
    let docs = admin_docs(
        "Ends all sessions of a user. App passwords and API keys stay valid.",
        None,
        ResponseDoc::Json(wire::<auth::Done>),
        &[UNKNOWN],
    );
    let path = "/api/admin/users/{id}/end-sessions";
    proved(secure(path, docs, KIB, |route| route.to(security::end_sessions)))
}

fn lift_wait() -> Route {
    let docs = admin_docs(
        "Lifts the wait of a user after wrong passwords and codes.",
        None,
        ResponseDoc::Json(wire::<auth::Done>),
        &[UNKNOWN],
    );
    let path = "/api/admin/users/{id}/lift-wait";
    proved(secure(path, docs, KIB, |route| route.to(security::lift_wait)))
}

fn reset_factor() -> Route {
    let docs = admin_docs(
        "Disables the second factor that a user has lost, and ends their sessions. They are \
         emailed.",
        Some(wire::<FreshProofRequest>),
        ResponseDoc::Json(wire::<auth::Done>),
        &[NO_PROOF, UNKNOWN, (409, "No second factor is enabled: `mfa_not_enabled`.")],
    );
    let path = "/api/admin/users/{id}/reset-factor";
    secure(path, docs, PROOF_BODY, |route| route.to(security::reset_factor))
}
