//! Routes of the JSON API, with their access rules.
//!
//! Each file has a function `routes` for one area. Rows that have most properties in
//! common are built from a first one by `..`, so the differences stand out. To add
//! a route, add a row and its handler: documentation and gates follow from the row.

mod account;
mod account_security;
mod admin;
mod ai;
mod api_keys;
mod app_passwords;
mod assignments;
mod assignments_admin;
mod audit;
mod auth;
mod chats;
mod client_policies;
mod connectors;
mod e2ee;
mod e2ee_recovery;
mod feedback;
mod groups;
mod knowledge;
mod knowledge_admin;
mod knowledge_ingest;
mod knowledge_questions;
mod licence;
mod mfa;
mod models;
mod outbox;
mod passkeys;
mod passwords;
mod personas;
mod plugins;
mod providers;
mod schedules;
mod scim_tokens;
mod settings;
mod sync;
mod usage;
mod utility;

use pia_web::Route;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// Returns all routes: registration, gates, OpenAPI and tests are built from
/// them.
pub fn routes() -> Vec<Route> {
    let areas = [
        utility::routes(),
        auth::routes(),
        passwords::routes(),
        mfa::routes(),
        app_passwords::routes(),
        api_keys::routes(),
        passkeys::routes(),
        providers::routes(),
        account::routes(),
        sync::routes(),
        ai::routes(),
        chats::routes(),
        e2ee::routes(),
        e2ee_recovery::routes(),
        admin::routes(),
        client_policies::routes(),
        personas::routes(),
        groups::routes(),
        account_security::routes(),
        feedback::routes(),
        plugins::routes(),
        outbox::routes(),
        models::routes(),
        audit::routes(),
        usage::routes(),
        licence::routes(),
        settings::routes(),
        scim_tokens::routes(),
        knowledge::routes(),
        knowledge_ingest::routes(),
        knowledge_admin::routes(),
        knowledge_questions::routes(),
        // Before the path of an assignment, which has an id in the same place.
        schedules::routes(),
        assignments::routes(),
        assignments_admin::routes(),
        connectors::routes(),
    ];

    areas.into_iter().flatten().collect()
}
