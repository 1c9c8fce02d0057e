//! Routes of managed personas.

use actix_web::http::Method;
use pia_web::{ResponseDoc, Route, wire};

use super::KIB;
use super::client_policies::{admin_docs, proved, read, write};
use crate::admin::personas;
use crate::auth;

/// Body limit for a prompt of 20,000 characters, all of them escaped.
const PERSONA_BODY: usize = 256 * KIB;
/// Body limit for 10,000 ids.
pub(super) const IDS_BODY: usize = 512 * KIB;
const PERSONAS: &str = "/api/admin/managed-personas";
const PERSONA: &str = "/api/admin/managed-personas/{id}";
const GROUPS: &str = "/api/admin/managed-personas/{id}/groups";
const PLUGINS: &str = "/api/admin/managed-personas/{id}/plugins";
const UNKNOWN: (u16, &str) = (404, "There is no such persona: `not_found`.");
const STALE: (u16, &str) =
    (412, "The persona is not the version that `If-Match` names: `precondition_failed`.");

pub(super) fn routes() -> Vec<Route> {
    let done = || ResponseDoc::Json(wire::<auth::Done>);
    vec![
        read(
            PERSONAS,
            admin_docs("Lists the managed personas, by name.", None, list_of_summaries(), &[]),
            |route| route.to(personas::list),
        ),
        read(
            PERSONA,
            admin_docs("Returns a managed persona.", None, persona(), &[UNKNOWN]),
            |route| route.to(personas::show),
        ),
        read(
            GROUPS,
            admin_docs("Lists the groups of a managed persona.", None, ids(), &[UNKNOWN]),
            |route| route.to(personas::groups),
        ),
        read(
            PLUGINS,
            admin_docs("Lists the plugins of a managed persona.", None, ids(), &[UNKNOWN]),
            |route| route.to(personas::plugins),
        ),
        create(),
        replace(),
        proved(write(
            Method::DELETE,
            PERSONA,
            admin_docs("Deletes a managed persona.", None, done(), &[UNKNOWN]),
            KIB,
            |route| route.to(personas::delete),
        )),
        assign(),
        write(
            Method::PUT,
            PLUGINS,
            admin_docs(
                "Replaces the plugins of a managed persona.",
                Some(wire::<personas::PersonaPluginsRequest>),
                done(),
                &[UNKNOWN],
            ),
            IDS_BODY,
            |route| route.to(personas::bind),
        ),
    ]
}

fn create() -> Route {
    let docs = admin_docs(
        "Creates a managed persona.",
        Some(wire::<personas::PersonaRequest>),
        ResponseDoc::Created(wire::<personas::PersonaCreated>),
        &[],
    );
    write(Method::POST, PERSONAS, docs, PERSONA_BODY, |route| route.to(personas::create))
}

fn replace() -> Route {
    let docs = admin_docs(
        "Replaces a managed persona; an omitted field is cleared, but for `isActive`.",
        Some(wire::<personas::PersonaRequest>),
        ResponseDoc::Json(wire::<auth::Done>),
        &[UNKNOWN, STALE],
    );
    write(Method::PUT, PERSONA, docs, PERSONA_BODY, |route| route.to(personas::replace))
}

fn assign() -> Route {
    let docs = admin_docs(
        "Replaces the groups of a managed persona.",
        Some(wire::<personas::EntryGroupsRequest>),
        ResponseDoc::Json(wire::<auth::Done>),
        &[UNKNOWN, (409, "A group has its maximum of personas: `quota_exceeded`.")],
    );
    write(Method::PUT, GROUPS, docs, IDS_BODY, |route| route.to(personas::assign))
}

fn list_of_summaries() -> ResponseDoc {
    ResponseDoc::List(wire::<personas::PersonaSummary>)
}

fn persona() -> ResponseDoc {
    ResponseDoc::Json(wire::<personas::PersonaResponse>)
}

fn ids() -> ResponseDoc {
    ResponseDoc::List(wire::<personas::EntryId>)
}
