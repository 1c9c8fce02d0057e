//! Every route of the JSON API, and who may call it.

mod account;
mod ai;
mod app_passwords;
mod auth;
mod mfa;
mod passkeys;
mod passwords;
mod providers;
mod utility;

use pia_web::Route;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// What registration, gates, OpenAPI and tests are made of.
pub fn routes() -> Vec<Route> {
    let accounts = auth::routes().into_iter().chain(mfa::routes()).chain(passwords::routes());
    let accounts = auth::routes().into_iter().chain(mfa::routes()).chain(app_passwords::routes());
    let accounts = auth::routes().into_iter().chain(mfa::routes()).chain(passkeys::routes());
    let accounts = auth::routes().into_iter().chain(mfa::routes()).chain(providers::routes());
    let accounts = auth::routes().into_iter().chain(mfa::routes());
    let accounts = accounts.chain(account::routes());
    utility::routes().into_iter().chain(accounts).chain(ai::routes()).collect()
}
