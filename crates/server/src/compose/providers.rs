//! Sign-in at identity providers over its adapters.

use std::sync::Arc;

use pia_identity::{ProviderPorts, ProviderSignIn};
use pia_kernel::Clock;
use pia_providers::OpenIdProviders;
use pia_storage::Database;
use pia_storage_identity::{SqlAccounts, SqlProviderAccounts, SqlProviderFlows, SqlSignInCodes};
use pia_upstream::Tls;

use super::ComposeError;
use super::identity::Identity;
use crate::licence::{LicenceFile, LicenceSeats};
use pia_settings::LiveConfig;

/// Path that providers redirect browsers to, below the server's own address.
const CALLBACK: &str = "/auth/callback";

pub(super) fn compose(
    config: &LiveConfig,
    db: &Database,
    (identity, licence, tls): (&Identity, &LicenceFile, &Tls),
    clock: &Arc<dyn Clock>,
) -> Result<ProviderSignIn, ComposeError> {
    let here = config.latest().server.public_url.as_str().to_owned();
    let settings = config.follow(|it| it.oauth.providers.clone());
    let callback = format!("{here}{CALLBACK}");
    let providers = OpenIdProviders::new(settings, callback, tls.config(), Arc::clone(clock))?;
    let seats = LicenceSeats::new(licence.state(), Arc::clone(clock));
    let ports = ProviderPorts {
        providers: Arc::new(providers),
        flows: Arc::new(SqlProviderFlows::new(db.clone())),
        codes: Arc::new(SqlSignInCodes::new(db.clone())),
        known: Arc::new(SqlProviderAccounts::new(db.clone())),
        accounts: Arc::new(SqlAccounts::new(db.clone())),
        seats: Arc::new(seats.clone()),
        licence: Arc::new(seats),
    };
    let sessions = (identity.sessions.clone(), identity.standings.clone());
    let rules = config.follow(|it| it.local_auth.registration.clone());
    Ok(ProviderSignIn::new(ports, sessions, rules, here, Arc::clone(clock)))
}
