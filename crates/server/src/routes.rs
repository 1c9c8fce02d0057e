//! The routes of every surface.

use pia_web::Route;

/// Returns the routes of every surface: the gates and the tests are built from
/// them.
pub fn routes() -> Vec<Route> {
    [pia_http::routes(), pia_scim::routes(), pia_console::routes()].into_iter().flatten().collect()
}
