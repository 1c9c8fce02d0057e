//! Adapter of [`IdentityProviders`], by OpenID Connect.

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
    directory: DiscoveryCache,
    clock: Arc<dyn Clock>,
}

/// A provider with its current settings and metadata.
struct ConfiguredProvider {
    name: Provider,
    settings: ProviderSettings,
    http: Http,
    known: Arc<DiscoveredProvider>,
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
        let directory = DiscoveryCache::new(Arc::clone(&clock));
        Ok(Self { settings, callback, http: Http::new(tls)?, directory, clock })
    }

    async fn peer(&self, name: Provider) -> Result<ConfiguredProvider, ProviderError> {
        let all = self.settings.get();
        let settings = all.providers.get(&name).cloned().ok_or(ProviderError::NotConfigured)?;
        let http = self.http.within(all.patience);
        let known = self.directory.discover(&http, &settings).await?;
        let client = Client::new(&settings, &known, &self.callback)?;
        Ok(ConfiguredProvider { name, settings, http, known, client })
    }

    /// Returns the claims of a token. Refreshes the provider's keys if the token's key is unknown.
    async fn claims(
        &self,
        peer: &ConfiguredProvider,
        tokens: &Tokens,
        code: &ProviderCode,
    ) -> Result<Claims, ProviderError> {
        let token = tokens.id_token().ok_or(ProviderError::BadToken)?;
        let now = self.clock.now();
        let verified = |known: &DiscoveredProvider| {
            token::verified(token, &peer.settings, known, &code.nonce, now).cloned()
        };

        let claims = match verified(&peer.known) {
            Err(TokenError::UnknownKey) => {
                let again = self.directory.refresh_keys(&peer.http, &peer.settings, &peer.known);
                again.await?.map_or(Err(TokenError::UnknownKey), |known| verified(&known))
            }
            verified => verified,
        };

        claims.map_err(|err| {
            let provider = peer.name.name();
            tracing::warn!(provider, error = %err, "ID token verification failed");
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
        let peer = self.peer(provider).await?;
        Ok(peer.client.authorization_url(&peer.settings, request))
    }

    async fn exchange(
        &self,
        provider: Provider,
        code: ProviderCode,
    ) -> Result<ProviderClaims, ProviderError> {
        let peer = self.peer(provider).await?;
        peer.expect_from(code.issuer.as_deref())?;
        let tokens = peer.client.redeem(&peer.http, &code.code, &code.verifier).await?;
        let claims = self.claims(&peer, &tokens, &code).await?;
        let user = user_info::fetch_user_info(&peer.http, &peer.known, &tokens, &claims).await;
        Ok(peer.provider_claims(&claims, user))
    }
}

impl ConfiguredProvider {
    /// Rejects a code that claims to be of another provider (RFC 9207).
    fn expect_from(&self, issuer: Option<&str>) -> Result<(), ProviderError> {
        let metadata = &self.known.metadata;
        let fits = match (issuer, self.settings.issuer) {
            (Some(issuer), IssuerRule::Exact) => issuer == metadata.issuer,
            (Some(_), IssuerRule::AnyTenant) => true,
            (None, _) => !metadata.authorization_response_iss_parameter_supported,
        };

        if fits {
            return Ok(());
        }

        tracing::warn!(
            provider = self.name.name(),
            "authorization code was issued by another provider"
        );

        Err(ProviderError::BadToken)
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
