//! Pages of one's own account.

mod profile;

use pia_web::Route;

/// Returns the rows of the account pages.
pub(crate) fn routes() -> Vec<Route> {
    [profile::routes()].into_iter().flatten().collect()
}
