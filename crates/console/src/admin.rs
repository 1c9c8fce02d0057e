//! Console of administrators and managers.

mod assignments;
mod bindings;
mod certificates;
mod connectors;
mod group_choice;
mod groups;
mod knowledge;
mod operators;
mod overview;
mod personas;
mod plugins;
mod policies;
mod users;

use pia_web::Route;

/// Returns the rows of the console.
pub(crate) fn routes() -> Vec<Route> {
    let pages = [
        overview::routes(),
        users::routes(),
        groups::routes(),
        policies::routes(),
        personas::routes(),
        plugins::routes(),
        certificates::routes(),
        knowledge::routes(),
        assignments::routes(),
        operators::routes(),
        connectors::routes(),
    ];
    pages.into_iter().flatten().collect()
}
