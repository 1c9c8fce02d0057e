//! The routes of every surface.

use pia_web::Route;

/// Returns the routes of every surface: the gates and the tests are built from
/// them.
pub fn routes() -> Vec<Route> {
    let surfaces = [
        pia_http::routes(),
        pia_mcp::routes(),
        pia_scim::routes(),
        pia_uplink::routes(),
        pia_console::routes(),
    ];
    surfaces.into_iter().flatten().collect()
}
