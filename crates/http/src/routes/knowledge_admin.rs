//! Routes with which administrators manage knowledge bases.

use actix_web::http::Method;
use pia_identity::Role;
use pia_policy::Feature;
use pia_web::{Access, Docs, ResponseDoc, Route, wire};

use super::client_policies::{self, admin_docs, proved, read};
use super::personas::IDS_BODY;
use super::{KIB, knowledge};
use crate::admin::knowledge_bases as bases;
use crate::admin::personas::{EntryGroupsRequest, EntryId};
use crate::admin::trial_search;
use crate::auth;

type Handler = fn(actix_web::Route) -> actix_web::Route;

const BASES: &str = "/api/admin/knowledge-bases";
const BASE: &str = "/api/admin/knowledge-bases/{id}";
const GROUPS: &str = "/api/admin/knowledge-bases/{id}/groups";
const STATS: &str = "/api/admin/knowledge-bases/{id}/stats";
const SEARCH: &str = "/api/admin/knowledge-bases/{id}/search";
/// Body limit for a question of 4,000 bytes, all of them escaped.
const QUESTION_BODY: usize = 32 * KIB;
const DOCUMENTS: &str = "/api/admin/knowledge-bases/{id}/documents";
const OF_PERSONA: &str = "/api/admin/managed-personas/{id}/knowledge-bases";
const UNKNOWN: (u16, &str) = (404, "There is no such knowledge base: `not_found`.");
const UNKNOWN_PERSONA: (u16, &str) = (404, "There is no such persona: `not_found`.");
const NAME_TAKEN: (u16, &str) = (409, "Another knowledge base has this name: `name_taken`.");
const QUOTA: (u16, &str) = (
    409,
    "A group would search more bases than it may: `quota_exceeded`, with `resource`, `limit`, \
     `current` and the name of the `group`.",
);

pub(super) fn routes() -> Vec<Route> {
    let list = ResponseDoc::List(wire::<bases::KnowledgeBaseResponse>);
    let knowledge_base = ResponseDoc::Json(wire::<bases::KnowledgeBaseResponse>);
    let ids = ResponseDoc::List(wire::<EntryId>);
    vec![
        read(BASES, admin_docs("Lists the knowledge bases, by name.", None, list, &[]), |route| {
            route.to(bases::list)
        }),
        read(
            BASE,
            admin_docs("Returns a knowledge base.", None, knowledge_base, &[UNKNOWN]),
            |route| route.to(bases::show),
        ),
        read(
            STATS,
            admin_docs(
                "Returns the numbers of a knowledge base.",
                None,
                knowledge::stats(),
                &[UNKNOWN],
            ),
            |route| route.to(bases::stats),
        ),
        read(
            DOCUMENTS,
            admin_docs(
                "Lists the documents of a knowledge base, by title.",
                None,
                knowledge::documents(),
                &[UNKNOWN],
            ),
            |route| route.to(bases::documents),
        ),
        create(),
        rename(),
        delete(),
        search(),
        share(),
        read(
            OF_PERSONA,
            admin_docs(
                "Lists the knowledge bases of a managed persona.",
                None,
                ids,
                &[UNKNOWN_PERSONA],
            ),
            |route| route.to(bases::of_persona),
        ),
        bind(),
    ]
}

/// Returns a row that changes bases, for which the licence must include them.
pub(super) fn write(
    method: Method,
    path: &'static str,
    docs: Docs,
    body_limit: usize,
    handler: Handler,
) -> Route {
    let feature = Some(Feature::Knowledge);
    Route { feature, ..client_policies::write(method, path, docs, body_limit, handler) }
}

fn create() -> Route {
    // Documented together: OpenAPI has one text for a status.
    const CONFLICT: (u16, &str) = (
        409,
        "Another knowledge base has this name: `name_taken`. Or the group would search more bases \
         than it may: `quota_exceeded`, with `resource`, `limit`, `current` and the name of the \
         `group`.",
    );

    let docs = admin_docs(
        "Creates a knowledge base that a group owns.",
        Some(wire::<bases::KnowledgeBaseRequest>),
        ResponseDoc::Created(wire::<bases::KnowledgeBaseCreated>),
        &[CONFLICT],
    );

    write(Method::POST, BASES, docs, 4 * KIB, |route| route.to(bases::create))
}

fn rename() -> Route {
    let docs = admin_docs(
        "Renames a knowledge base.",
        Some(wire::<bases::KnowledgeBaseNameRequest>),
        ResponseDoc::Json(wire::<auth::Done>),
        &[UNKNOWN, NAME_TAKEN],
    );
    write(Method::PUT, BASE, docs, 4 * KIB, |route| route.to(bases::rename))
}

fn delete() -> Route {
    let answer = ResponseDoc::Json(wire::<auth::Done>);
    let docs = admin_docs("Deletes a knowledge base with its documents.", None, answer, &[UNKNOWN]);
    proved(write(Method::DELETE, BASE, docs, KIB, |route| route.to(bases::delete)))
}

fn search() -> Route {
    const UNAVAILABLE: (u16, &str) = (
        503,
        "Knowledge bases are switched off: `knowledge_disabled`. Or the question could not be \
         embedded: `embedding_unavailable`. Or the server is overloaded, or its database is \
         unavailable.",
    );

    let docs = admin_docs(
        "Searches a knowledge base as chats do, to try it. Managers search the bases of their \
         group.",
        Some(wire::<trial_search::TrialSearchRequest>),
        ResponseDoc::List(wire::<trial_search::PassageResponse>),
        &[UNKNOWN, UNAVAILABLE],
    );
    let row =
        write(Method::POST, SEARCH, docs, QUESTION_BODY, |route| route.to(trial_search::search));

    Route { access: Access::Console(&[Role::Admin, Role::KbManager]), ..row }
}

fn share() -> Route {
    let docs = admin_docs(
        "Replaces the groups that a knowledge base is shared with, beside its owner.",
        Some(wire::<EntryGroupsRequest>),
        ResponseDoc::Json(wire::<auth::Done>),
        &[UNKNOWN, QUOTA],
    );
    write(Method::PUT, GROUPS, docs, IDS_BODY, |route| route.to(bases::share))
}

fn bind() -> Route {
    let docs = admin_docs(
        "Replaces the knowledge bases of a managed persona, which the persona's chats search.",
        Some(wire::<bases::PersonaBasesRequest>),
        ResponseDoc::Json(wire::<auth::Done>),
        &[UNKNOWN_PERSONA, QUOTA],
    );
    write(Method::PUT, OF_PERSONA, docs, IDS_BODY, |route| route.to(bases::bind))
}
