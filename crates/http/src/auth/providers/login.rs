//! `GET /auth/login`: redirect of a browser to an identity provider.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use pia_identity::{ProviderSignInRequest, StartProviderSignInError};
use pia_kernel::Unavailable;
use pia_web::ApiError;
use utoipa::ToSchema;

use super::parameters::Parameters;
use crate::Api;

/// Redirects a browser to an identity provider.
pub(crate) async fn login(api: Data<Api>, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    if let Some(redirect) = api.browsers.redirect_to_public_url(&request) {
        return Ok(redirect);
    }

    let sign_in_request = match LoginQuery::from_request(&request) {
        Ok(query) => query.into(),
        Err(refusal) => return api.browsers.report_failure(&request, None, refusal),
    };

    let browser = api.browsers.browser_secret(&request);
    // A failure is reported in several ways, so it is not an error here.
    let result = api
        .run(|api| async move {
            Ok::<_, Unavailable>(
                api.identity.provider_sign_in.begin(sign_in_request, browser).await,
            )
        })
        .await?;
    match result {
        Ok(started) => Ok(api.browsers.redirect_to_provider(&started.url, &started.browser)),
        Err(StartProviderSignInError::Failed(err)) => {
            api.browsers.report_failure(&request, err.return_state, err.reason.into())
        }
        Err(err) => api.browsers.report_failure(&request, None, err.into()),
    }
}

/// Target of a sign-in.
#[derive(ToSchema)]
pub(crate) struct LoginQuery {
    /// `google`, `microsoft`, `entraid` or `oidc`.
    #[schema(required = true)]
    provider: Option<String>,
    /// A loopback address where a program listens, or a path of this server.
    /// Without it the browser itself gets the tokens.
    redirect_uri: Option<String>,
    /// The SHA-256 of a verifier in base64url, which a loopback address needs.
    code_challenge: Option<String>,
    /// `S256`, which is also meant without it.
    code_challenge_method: Option<String>,
    /// Returned unchanged; at most 1024 characters.
    state: Option<String>,
}

impl LoginQuery {
    fn from_request(request: &HttpRequest) -> Result<Self, ApiError> {
        let parameters = Parameters::from_request(request)?;
        Ok(Self {
            provider: parameters.single("provider")?,
            redirect_uri: parameters.single("redirect_uri")?,
            code_challenge: parameters.single("code_challenge")?,
            code_challenge_method: parameters.single("code_challenge_method")?,
            state: parameters.single("state")?,
        })
    }
}

impl From<LoginQuery> for ProviderSignInRequest {
    fn from(query: LoginQuery) -> Self {
        Self {
            provider: query.provider,
            target: query.redirect_uri,
            challenge: query.code_challenge,
            challenge_method: query.code_challenge_method,
            state: query.state,
        }
    }
}
