//! Sign-in at identity providers over its adapters.

use std::sync::Arc;

use pia_identity::{ProviderPorts, ProviderSignIn};
use pia_providers::OpenIdProviders;
use pia_storage_identity::{SqlProviderAccounts, SqlProviderFlows, SqlSignInCodes};

use super::ComposeError;
use super::identity::IdentityParts;
use super::infrastructure::Infrastructure;
use crate::licence::LicenceSeats;

/// Path that providers redirect browsers to, below the server's public URL.
const CALLBACK: &str = "/auth/callback";

pub(super) fn compose(
    base: &Infrastructure<'_>,
    parts: &IdentityParts,
) -> Result<ProviderSignIn, ComposeError> {
    let config = base.config;
    let db = &base.db;
    let public_url = base.public_url();
    let settings = config.follow(|it| it.oauth.providers.clone());
    let callback = format!("{public_url}{CALLBACK}");
    let providers = OpenIdProviders::new(settings, callback, base.tls.config(), base.clock())?;
    let ports = ProviderPorts {
        providers: Arc::new(providers),
        flows: Arc::new(SqlProviderFlows::new(db.clone())),
        codes: Arc::new(SqlSignInCodes::new(db.clone())),
        provider_accounts: Arc::new(SqlProviderAccounts::new(db.clone())),
        accounts: Arc::clone(&parts.proofs.ports.accounts),
        seats: Arc::clone(&parts.seats),
        licence: Arc::new(LicenceSeats::new(base.licence.state(), base.clock())),
        public_url,
        clock: base.clock(),
    };

    let rules = config.follow(|it| it.local_auth.registration.clone());

    Ok(ProviderSignIn::new(ports, parts.sessions.clone(), parts.callers.clone(), rules))
}
