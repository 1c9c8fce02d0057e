//! Console of administrators and managers.

mod assignments;
mod audit;
mod bindings;
mod certificates;
mod connectors;
mod devices;
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

use pia_web::Route;

/// Returns the rows of the console.
pub(crate) fn routes() -> Vec<Route> {
    let pages = [
        overview::routes(),
        first_steps::routes(),
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
        mail::routes(),
        jobs::routes(),
        audit::routes(),
        settings::routes(),
        licence::routes(),
    ];

    pages.into_iter().flatten().collect()
}
