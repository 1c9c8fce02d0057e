//! Tokens of identity providers that manage users and groups.

use actix_web::http::Method;
use pia_web::{Licensing, ResponseDoc, Route, wire};

use super::KIB;
use super::client_policies::{admin_docs, proved, read, write};
use crate::admin::scim_tokens;
use crate::auth;

const TOKENS: &str = "/api/admin/scim-tokens";

pub(super) fn routes() -> Vec<Route> {
    vec![list(), create(), revoke()]
}

fn list() -> Route {
    let answer = ResponseDoc::List(wire::<scim_tokens::ScimTokenResponse>);
    let docs = admin_docs("Lists the SCIM tokens, oldest first.", None, answer, &[]);
    read(TOKENS, docs, |route| route.to(scim_tokens::list))
}

fn create() -> Route {
    let docs = admin_docs(
        "Creates a SCIM token, which is returned this once.",
        Some(wire::<scim_tokens::ScimTokenRequest>),
        ResponseDoc::Created(wire::<scim_tokens::ScimTokenCreated>),
        &[(409, "There is the maximum number of tokens: `quota_exceeded`, with `limit`.")],
    );
    proved(write(Method::POST, TOKENS, docs, 4 * KIB, |route| route.to(scim_tokens::create)))
}

fn revoke() -> Route {
    let docs = admin_docs(
        "Revokes a SCIM token at once.",
        None,
        ResponseDoc::Json(wire::<auth::Done>),
        &[(404, "There is no such token: `not_found`.")],
    );
    let route = write(Method::DELETE, "/api/admin/scim-tokens/{id}", docs, KIB, |route| {
        route.to(scim_tokens::revoke)
    });
    // A leaked token can be revoked without a licence that is in force.
    Route { licensing: Licensing::MayHaveEnded, feature: None, ..proved(route) }
}
