//! Console of administrators and managers.

mod bindings;
mod groups;
mod overview;
mod personas;
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
    ];
    pages.into_iter().flatten().collect()
}
