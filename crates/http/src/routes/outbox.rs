//! Routes of the outbox of emails.

use actix_web::http::Method;
use pia_web::{Docs, ResponseDoc, Route, wire};

use super::KIB;
use super::account_security::{NO_PROOF, PROOF_BODY};
use super::client_policies::{self, admin_docs, open_to_unverified, read};
use crate::admin::outbox;
use crate::auth;
use crate::auth::mfa::FreshProofRequest;

const UNKNOWN: (u16, &str) = (404, "There is no such email, or it was sent: `not_found`.");

pub(super) fn routes() -> Vec<Route> {
    open_to_unverified(vec![list(), send_test(), retry(), discard()])
}

/// Returns a row that acts on the outbox, which needs no feature.
fn act(
    path: &'static str,
    docs: Docs,
    body_limit: usize,
    handler: fn(actix_web::Route) -> actix_web::Route,
) -> Route {
    let route = client_policies::write(Method::POST, path, docs, body_limit, handler);
    Route { feature: None, ..route }
}

fn list() -> Route {
    let docs = admin_docs(
        "Lists the emails that wait or failed, newest first, without their contents.",
        Some(wire::<outbox::OutboxQuery>),
        ResponseDoc::Page(wire::<outbox::OutboxPage>),
        &[],
    );
    read("/api/admin/outbox", docs, |route| route.to(outbox::list))
}

fn send_test() -> Route {
    let docs = admin_docs(
        "Queues an email to the caller that tests the mail server.",
        None,
        ResponseDoc::Json(wire::<auth::Done>),
        &[(409, "No mail server is configured: `mail_not_configured`.")],
    );
    act("/api/admin/outbox/test", docs, KIB, |route| route.to(outbox::send_test))
}

fn retry() -> Route {
    let docs = admin_docs(
        "Sends an email now that waits for its next attempt.",
        None,
        ResponseDoc::Json(wire::<auth::Done>),
        &[UNKNOWN, (409, "The email is being sent, or failed for good: `mail_busy`.")],
    );
    act("/api/admin/outbox/{id}/retry", docs, KIB, |route| route.to(outbox::retry))
}

fn discard() -> Route {
    let docs = admin_docs(
        "Deletes an email that is not being sent.",
        Some(wire::<FreshProofRequest>),
        ResponseDoc::Json(wire::<auth::Done>),
        &[NO_PROOF, UNKNOWN, (409, "The email is being sent: `mail_busy`.")],
    );
    act("/api/admin/outbox/{id}/discard", docs, PROOF_BODY, |route| route.to(outbox::discard))
}
