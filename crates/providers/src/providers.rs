//! Adapter of [`IdentityProviders`], by OpenID Connect.
//!
//! Each method first calls `configured`, so that a change of settings applies to the next
//! call. `exchange` trusts nothing of the provider's response before `claims` has verified
//! its token.

use std::sync::Arc;

use async_trait::async_trait;
use openidconnect::TokenResponse;
use pia_identity::{
    IdentityProviders, Provider, ProviderClaims, ProviderCode, ProviderError, ProviderIdentity,
    ProviderRequest,
};
use pia_kernel::{Clock, LiveSetting};
use rustls::ClientConfig;

use crate::client::{Claims, Client, Tokens};
use crate::discovery::{DiscoveredProvider, DiscoveryCache};
use crate::http::{Http, ProviderSetupError};
use crate::settings::{IssuerRule, ProviderSettings, ProvidersSettings};
use crate::token::{self, TokenError};
use crate::user_info::{self, UserInfo};

/// OpenID Connect client of the configured providers.
pub struct OpenIdProviders {
    settings: LiveSetting<ProvidersSettings>,
    /// Redirect URI, to which providers send browsers back.
    callback: String,
    http: Http,
    discovery: DiscoveryCache,
    clock: Arc<dyn Clock>,
}

/// A provider with its current settings and metadata.
struct ConfiguredProvider {
    name: Provider,
    settings: ProviderSettings,
    http: Http,
    discovered: Arc<DiscoveredProvider>,
    client: Client,
}

impl OpenIdProviders {
    /// Creates a client whose settings may change at run time. Providers redirect browsers back to
    /// `callback`.
    pub fn new(
        settings: LiveSetting<ProvidersSettings>,
        callback: String,
        tls: ClientConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ProviderSetupError> {
        let discovery = DiscoveryCache::new(Arc::clone(&clock));
        Ok(Self { settings, callback, http: Http::new(tls)?, discovery, clock })
    }

    /// Returns a provider with its settings as they are now, and its cached metadata.
    async fn configured(&self, name: Provider) -> Result<ConfiguredProvider, ProviderError> {
        let all = self.settings.get();
        let settings = all.providers.get(&name).cloned().ok_or(ProviderError::NotConfigured)?;
        let http = self.http.within(all.timeout);
        let discovered = self.discovery.discover(&http, &settings).await?;
        let client = Client::new(&settings, &discovered, &self.callback)?;
        Ok(ConfiguredProvider { name, settings, http, discovered, client })
    }

    /// Returns the claims of a token. Refreshes the provider's keys if the token's key is unknown.
    async fn claims(
        &self,
        provider: &ConfiguredProvider,
        tokens: &Tokens,
        code: &ProviderCode,
    ) -> Result<Claims, ProviderError> {
        let token = tokens.id_token().ok_or(ProviderError::BadToken)?;
        let now = self.clock.now();
        let verify = |discovered: &DiscoveredProvider| {
            token::verify(token, &provider.settings, discovered, &code.nonce, now).cloned()
        };

        let mut claims = verify(&provider.discovered);
        if matches!(claims, Err(TokenError::UnknownKey)) {
            let ConfiguredProvider { http, settings, discovered, .. } = provider;
            if let Some(refreshed) = self.discovery.refresh_keys(http, settings, discovered).await?
            {
                claims = verify(&refreshed);
            }
        }

        claims.map_err(|err| {
            tracing::warn!(provider = provider.name.name(), error = %err, "ID token verification failed");
            ProviderError::BadToken
        })
    }
}

#[async_trait]
impl IdentityProviders for OpenIdProviders {
    async fn authorization_url(
        &self,
        provider: Provider,
        request: &ProviderRequest,
    ) -> Result<String, ProviderError> {
        let configured = self.configured(provider).await?;
        Ok(configured.client.authorization_url(&configured.settings, request))
    }

    async fn exchange(
        &self,
        provider: Provider,
        code: ProviderCode,
    ) -> Result<ProviderClaims, ProviderError> {
        let configured = self.configured(provider).await?;
        configured.expect_from(code.issuer.as_deref())?;

        let ConfiguredProvider { http, discovered, client, .. } = &configured;
        let tokens = client.redeem(http, &code.code, &code.verifier).await?;
        let claims = self.claims(&configured, &tokens, &code).await?;
        let user = user_info::fetch_user_info(http, discovered, &tokens, &claims).await;
        Ok(configured.provider_claims(&claims, user))
    }
}

impl ConfiguredProvider {
    /// Rejects a code that claims to be of another provider (RFC 9207), or that names none
    /// although its provider announces to do so. An issuer with a tenant is verified with the
    /// token instead.
    fn expect_from(&self, issuer: Option<&str>) -> Result<(), ProviderError> {
        let metadata = &self.discovered.metadata;
        let is_expected = match (issuer, self.settings.issuer) {
            (Some(issuer), IssuerRule::Exact) => issuer == metadata.issuer,
            (Some(_), IssuerRule::AnyTenant) => true,
            (None, _) => !metadata.authorization_response_iss_parameter_supported,
        };

        if !is_expected {
            tracing::warn!(
                provider = self.name.name(),
                "authorization code was issued by another provider"
            );
            return Err(ProviderError::BadToken);
        }

        Ok(())
    }

    fn provider_claims(&self, claims: &Claims, user: UserInfo) -> ProviderClaims {
        ProviderClaims {
            identity: ProviderIdentity {
                issuer: claims.issuer().to_string(),
                subject: claims.subject().to_string(),
            },
            email: user.email,
            email_verified: user.email_verified,
            trusts_email: self.settings.trusts_email,
            name: user.name,
        }
    }
}
