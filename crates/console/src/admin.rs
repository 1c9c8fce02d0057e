//! Console of administrators and managers.

mod bindings;
mod certificates;
mod groups;
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
    ];
    pages.into_iter().flatten().collect()
}
