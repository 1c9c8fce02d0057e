//! Every route of the JSON API, and who may call it.

mod ai;
mod auth;
mod utility;

use pia_web::Route;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// What registration, gates, OpenAPI and tests are made of.
pub fn routes() -> Vec<Route> {
    utility::routes().into_iter().chain(auth::routes()).chain(ai::routes()).collect()
}
