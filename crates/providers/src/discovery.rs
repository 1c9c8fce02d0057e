//! Cached discovery documents and keys of providers.
//!
//! `discover` fetches both on first use and again after an hour. A provider may rotate
//! its keys meanwhile: a token with an unknown key makes `providers.rs` call
//! `refresh_keys` and verify once more. A document is cached only after its issuer
//! and endpoints were checked in `fetch_metadata`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use openidconnect::core::CoreJsonWebKeySet;
use pia_identity::ProviderError;
use pia_kernel::{Clock, Timestamp};
use serde::Deserialize;

use crate::http::{Http, is_public, parse_secure_url};
use crate::settings::{IssuerRule, ProviderSettings};

/// Lifetime of a cached discovery document.
const MAX_METADATA_AGE: Duration = Duration::from_hours(1);
/// Minimum interval between key requests caused by an unknown key: forged
/// tokens could otherwise cause one each.
const MIN_KEYS_AGE: Duration = Duration::from_secs(30);
/// Placeholder of the tenant in Microsoft's issuer.
pub(crate) const TENANT_PLACEHOLDER: &str = "{tenantid}";

/// Provider metadata from the discovery document, as far as it is used.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) issuer: String,
    pub(crate) authorization_endpoint: String,
    pub(crate) token_endpoint: String,
    pub(crate) jwks_uri: String,
    pub(crate) userinfo_endpoint: Option<String>,
    #[serde(default)]
    pub(crate) token_endpoint_auth_methods_supported: Vec<String>,
    #[serde(default)]
    pub(crate) authorization_response_iss_parameter_supported: bool,
}

/// Cached metadata and keys of a provider.
#[derive(Debug, Clone)]
pub(crate) struct DiscoveredProvider {
    pub(crate) metadata: Metadata,
    pub(crate) keys: CoreJsonWebKeySet,
    metadata_fetched_at: Timestamp,
    keys_fetched_at: Timestamp,
}

/// Cache of providers, by their authorities.
///
/// Concurrent calls may both request the provider: rare, and simpler than waiting for the other's
/// failure.
pub(crate) struct DiscoveryCache {
    clock: Arc<dyn Clock>,
    providers: Mutex<HashMap<String, Arc<DiscoveredProvider>>>,
}

impl DiscoveryCache {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, providers: Mutex::default() }
    }

    /// Returns a provider's metadata and keys, at most an hour old.
    pub(crate) async fn discover(
        &self,
        http: &Http,
        settings: &ProviderSettings,
    ) -> Result<Arc<DiscoveredProvider>, ProviderError> {
        let now = self.clock.now();
        let cached_provider = self.lock_cache().get(&settings.authority).cloned();
        if let Some(provider) =
            cached_provider.filter(|it| is_fresh(it.metadata_fetched_at, MAX_METADATA_AGE, now))
        {
            return Ok(provider);
        }

        let metadata = fetch_metadata(http, settings).await?;
        let keys = fetch_keys(http, &metadata).await?;
        let provider =
            DiscoveredProvider { metadata, keys, metadata_fetched_at: now, keys_fetched_at: now };
        Ok(self.store(settings, provider))
    }

    /// Fetches the current keys, for a token whose key is unknown; returns
    /// `None` if they were fetched in the last 30 seconds.
    pub(crate) async fn refresh_keys(
        &self,
        http: &Http,
        settings: &ProviderSettings,
        cached: &DiscoveredProvider,
    ) -> Result<Option<Arc<DiscoveredProvider>>, ProviderError> {
        let now = self.clock.now();
        if is_fresh(cached.keys_fetched_at, MIN_KEYS_AGE, now) {
            return Ok(None);
        }
        let keys = fetch_keys(http, &cached.metadata).await?;
        let provider = DiscoveredProvider { keys, keys_fetched_at: now, ..cached.clone() };
        Ok(Some(self.store(settings, provider)))
    }

    fn store(
        &self,
        settings: &ProviderSettings,
        provider: DiscoveredProvider,
    ) -> Arc<DiscoveredProvider> {
        let provider = Arc::new(provider);
        self.lock_cache().insert(settings.authority.clone(), Arc::clone(&provider));
        provider
    }

    fn lock_cache(&self) -> MutexGuard<'_, HashMap<String, Arc<DiscoveredProvider>>> {
        // Nothing panics while the lock is held.
        self.providers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether data of this time is younger than `max_age`. Data of the future, from
/// before the clock was set back, is not.
fn is_fresh(fetched_at: Timestamp, max_age: Duration, now: Timestamp) -> bool {
    fetched_at <= now && now < fetched_at + max_age
}

async fn fetch_metadata(
    http: &Http,
    settings: &ProviderSettings,
) -> Result<Metadata, ProviderError> {
    let authority = settings.authority.trim_end_matches('/');
    let address = format!("{authority}/.well-known/openid-configuration");
    let metadata: Metadata = fetch_json(http, &address).await?;

    if !accepts_issuer(&metadata.issuer, settings) {
        tracing::error!(
            provider.authority = authority,
            provider.issuer = %metadata.issuer.escape_debug(),
            "provider metadata names another issuer"
        );
        return Err(ProviderError::BadToken);
    }

    let secure_endpoints = [&metadata.authorization_endpoint, &metadata.token_endpoint];
    if secure_endpoints.iter().any(|it| parse_secure_url(it).is_none()) {
        tracing::error!(provider.authority = authority, "provider is configured without https");
        return Err(ProviderError::Unreachable);
    }

    // A public provider must not make the server call private addresses.
    let called_endpoints = [
        Some(&metadata.token_endpoint),
        Some(&metadata.jwks_uri),
        metadata.userinfo_endpoint.as_ref(),
    ];
    if is_public(authority) && called_endpoints.iter().flatten().any(|it| !is_public(it)) {
        tracing::error!(provider.authority = authority, "provider resolves to a private address");
        return Err(ProviderError::BadToken);
    }

    Ok(metadata)
}

/// Returns whether tokens of this issuer may be this provider's. Microsoft's
/// common authority names a template, others of its authorities a tenant.
fn accepts_issuer(issuer: &str, settings: &ProviderSettings) -> bool {
    let authority = &settings.authority;
    match settings.issuer {
        IssuerRule::Exact => issuer.trim_end_matches('/') == authority.trim_end_matches('/'),
        IssuerRule::AnyTenant => {
            let origin = |url: &str| {
                parse_secure_url(&url.replace(TENANT_PLACEHOLDER, "tenant")).map(|it| it.origin())
            };
            origin(issuer).is_some() && origin(issuer) == origin(authority)
        }
    }
}

async fn fetch_keys(http: &Http, metadata: &Metadata) -> Result<CoreJsonWebKeySet, ProviderError> {
    fetch_json(http, &metadata.jwks_uri).await
}

async fn fetch_json<T: for<'de> Deserialize<'de>>(
    http: &Http,
    address: &str,
) -> Result<T, ProviderError> {
    let body = http.get(address, None).await.map_err(|err| {
        tracing::warn!(error = &err as &dyn std::error::Error, "provider metadata request failed");
        ProviderError::Unreachable
    })?;
    serde_json::from_slice(&body).map_err(|err| {
        tracing::warn!(error = %err, "provider metadata could not be parsed");
        ProviderError::Unreachable
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(authority: &str, issuer: IssuerRule) -> ProviderSettings {
        ProviderSettings {
            client_id: "pia".to_owned(),
            client_secret: None,
            authority: authority.to_owned(),
            issuer,
            tenant: None,
            trusts_email: false,
            scopes: Vec::new(),
        }
    }

    #[test]
    fn a_provider_has_exactly_one_issuer() {
        let provider = settings("https://id.example/realms/a", IssuerRule::Exact);

        assert!(accepts_issuer("https://id.example/realms/a", &provider));
        assert!(accepts_issuer("https://id.example/realms/a/", &provider));
        for other_issuer in [
            "https://id.example/realms/b",
            "https://id.example",
            "http://id.example/realms/a",
            "https://id.example/realms/A",
            "https://id.example/realms/{tenantid}",
            "",
        ] {
            assert!(!accepts_issuer(other_issuer, &provider), "{other_issuer}");
        }
    }

    #[test]
    fn microsoft_may_issue_for_any_tenant() {
        let authority = "https://login.microsoftonline.com/common/v2.0";
        let provider = settings(authority, IssuerRule::AnyTenant);

        assert!(accepts_issuer("https://login.microsoftonline.com/{tenantid}/v2.0", &provider));
        assert!(accepts_issuer(
            "https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0",
            &provider
        ));
        for other_issuer in [
            "https://evil.example/{tenantid}/v2.0",
            "http://login.microsoftonline.com/{tenantid}/v2.0",
            "https://login.microsoftonline.com.evil.example/{tenantid}/v2.0",
            "{tenantid}",
        ] {
            assert!(!accepts_issuer(other_issuer, &provider), "{other_issuer}");
        }
    }

    #[test]
    fn old_and_future_times_are_not_fresh() {
        let now = Timestamp::from_micros(10_000_000_000);

        assert!(is_fresh(now, MAX_METADATA_AGE, now));
        assert!(!is_fresh(now - MAX_METADATA_AGE, MAX_METADATA_AGE, now));
        assert!(!is_fresh(now + Duration::from_secs(1), MAX_METADATA_AGE, now));
    }
}
