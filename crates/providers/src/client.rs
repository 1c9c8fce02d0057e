//! `openidconnect` client of one provider.
//!
//! `providers.rs` creates a client for each call, from the current settings and the
//! discovered metadata. State, nonce and PKCE verifier come from `identity`, which
//! stores them between the two calls of a sign-in. The tokens that `redeem` returns
//! are unverified: `token.rs` does that.

use openidconnect::core::{
    CoreAuthDisplay, CoreAuthPrompt, CoreErrorResponseType, CoreGenderClaim, CoreJsonWebKey,
    CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm, CoreResponseType,
    CoreRevocableToken, CoreRevocationErrorResponse, CoreTokenIntrospectionResponse, CoreTokenType,
};
use openidconnect::{
    AdditionalClaims, AuthType, AuthUrl, AuthenticationFlow, AuthorizationCode, ClientId,
    ClientSecret, CsrfToken, EmptyExtraTokenFields, EndpointNotSet, EndpointSet, IdToken,
    IdTokenClaims, IdTokenFields, IssuerUrl, Nonce, PkceCodeChallenge, PkceCodeVerifier,
    RedirectUrl, RequestTokenError, Scope, StandardErrorResponse, StandardTokenResponse, TokenUrl,
};
use pia_identity::{ProviderError, ProviderRequest};
use pia_kernel::Secret;
use serde::{Deserialize, Serialize};

use crate::discovery::DiscoveredProvider;
use crate::http::{Http, HttpError};
use crate::settings::ProviderSettings;

/// Claims that providers add to those of OpenID Connect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ExtraClaims {
    /// Time in seconds since the Unix epoch before which the token is invalid (RFC 7519, 4.1.5).
    pub(crate) nbf: Option<f64>,
    /// Tenant of the token's issuer, at Microsoft.
    pub(crate) tid: Option<String>,
}

impl AdditionalClaims for ExtraClaims {}

pub(crate) type Claims = IdTokenClaims<ExtraClaims, CoreGenderClaim>;
pub(crate) type SignedToken = IdToken<
    ExtraClaims,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm,
>;
pub(crate) type Tokens = StandardTokenResponse<
    IdTokenFields<
        ExtraClaims,
        EmptyExtraTokenFields,
        CoreGenderClaim,
        CoreJweContentEncryptionAlgorithm,
        CoreJwsSigningAlgorithm,
    >,
    CoreTokenType,
>;
type Refusal = StandardErrorResponse<CoreErrorResponseType>;

/// Client with an authorization and a token endpoint.
type ConfiguredClient = openidconnect::Client<
    ExtraClaims,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    Refusal,
    Tokens,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointSet,
    EndpointNotSet,
>;

/// Client of one provider.
pub(crate) struct Client(ConfiguredClient);

impl Client {
    pub(crate) fn new(
        settings: &ProviderSettings,
        discovered: &DiscoveredProvider,
        callback: &str,
    ) -> Result<Self, ProviderError> {
        let unusable = |_| ProviderError::Unreachable;
        let metadata = &discovered.metadata;
        // The issuer is verified with the token, where its tenant is known.
        let issuer = IssuerUrl::new(settings.authority.clone()).map_err(unusable)?;
        let client_id = ClientId::new(settings.client_id.clone());
        let mut client = openidconnect::Client::new(client_id, issuer, discovered.keys.clone())
            .set_auth_uri(AuthUrl::new(metadata.authorization_endpoint.clone()).map_err(unusable)?)
            .set_token_uri(TokenUrl::new(metadata.token_endpoint.clone()).map_err(unusable)?)
            .set_redirect_uri(RedirectUrl::new(callback.to_owned()).map_err(unusable)?)
            .set_auth_type(auth_type(&metadata.token_endpoint_auth_methods_supported));

        if let Some(secret) = &settings.client_secret {
            client = client.set_client_secret(ClientSecret::new(secret.expose().clone()));
        }

        Ok(Self(client))
    }

    /// Returns the authorization URL, at which a browser signs in.
    pub(crate) fn authorization_url(
        &self,
        settings: &ProviderSettings,
        request: &ProviderRequest,
    ) -> String {
        let state = request.state.expose().clone();
        let nonce = request.nonce.expose().clone();
        let verifier = PkceCodeVerifier::new(request.verifier.expose().clone());

        // `openid` is requested already.
        let scopes = settings.scopes.iter().filter(|it| *it != "openid").cloned().map(Scope::new);
        let (url, ..) = self
            .0
            .authorize_url(
                AuthenticationFlow::<CoreResponseType>::AuthorizationCode,
                || CsrfToken::new(state),
                || Nonce::new(nonce),
            )
            .add_scopes(scopes)
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier))
            .url();

        url.into()
    }

    /// Exchanges an authorization code for tokens.
    pub(crate) async fn redeem(
        &self,
        http: &Http,
        code: &Secret<String>,
        verifier: &Secret<String>,
    ) -> Result<Tokens, ProviderError> {
        self.0
            .exchange_code(AuthorizationCode::new(code.expose().clone()))
            .set_pkce_verifier(PkceCodeVerifier::new(verifier.expose().clone()))
            .request_async(http)
            .await
            .map_err(|err| provider_error(&err))
    }
}

/// Selects the client authentication method: `Authorization: Basic`, which
/// every provider supports, unless the provider accepts the secret in the body
/// only.
fn auth_type(supported: &[String]) -> AuthType {
    let supports = |method: &str| supported.iter().any(|it| it == method);
    if supports("client_secret_post") && !supports("client_secret_basic") {
        AuthType::RequestBody
    } else {
        AuthType::BasicAuth
    }
}

/// Logs the error, without the provider's response, which may contain a token,
/// and translates it for `identity`.
fn provider_error(err: &RequestTokenError<HttpError, Refusal>) -> ProviderError {
    match err {
        RequestTokenError::ServerResponse(refusal) => {
            let code = refusal.error().to_string();
            tracing::warn!(provider.error = %code.escape_debug(), "provider rejected the authorization code");
            ProviderError::Refused(code)
        }
        RequestTokenError::Request(err) => {
            let error = err as &dyn std::error::Error;
            tracing::warn!(error, "token request failed");
            ProviderError::Unreachable
        }
        RequestTokenError::Parse(err, _) => {
            tracing::warn!(at = %err.path(), "token response could not be parsed");
            ProviderError::BadToken
        }
        RequestTokenError::Other(_) => {
            tracing::warn!("token response is unrecognised");
            ProviderError::Unreachable
        }
    }
}
