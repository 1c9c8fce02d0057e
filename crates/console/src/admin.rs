//! Console of administrators and managers.

mod assignments;
mod audit;
mod bindings;
mod certificates;
mod connectors;
mod devices;
mod entry_choice;
mod feedback;
mod first_steps;
mod group_choice;
mod groups;
mod invitations;
mod jobs;
mod knowledge;
mod licence;
mod mail;
mod models;
mod operators;
mod overview;
mod person_filter;
mod personas;
mod plugins;
mod policies;
mod scim;
mod settings;
mod usage;
mod users;

use pia_web::{AccountScope, Route};

/// Returns the rows of the console.
pub(crate) fn routes() -> Vec<Route> {
    let pages = [
        overview::routes(),
        open_to_unverified(first_steps::routes()),
        users::routes(),
        devices::routes(),
        groups::routes(),
        policies::routes(),
        personas::routes(),
        plugins::routes(),
        certificates::routes(),
        knowledge::routes(),
        assignments::routes(),
        operators::routes(),
        connectors::routes(),
        models::routes(),
        invitations::routes(),
        scim::routes(),
        usage::routes(),
        feedback::routes(),
        open_to_unverified(mail::routes()),
        jobs::routes(),
        audit::routes(),
        open_to_unverified(settings::routes()),
        open_to_unverified(licence::routes()),
    ];

    pages.into_iter().flatten().collect()
}

/// Opens pages to accounts that owe the verification of their address: an administrator who
/// requires one without meeting it changes the setting back.
fn open_to_unverified(routes: Vec<Route>) -> Vec<Route> {
    routes.into_iter().map(|it| Route { accounts: AccountScope::Declared, ..it }).collect()
}
