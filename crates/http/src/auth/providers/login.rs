//! `GET /auth/login`: a browser goes to an identity provider.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use pia_identity::{BeginError, ProviderWish};
use pia_kernel::Unavailable;
use pia_web::ApiError;
use utoipa::ToSchema;

use super::parameters::Parameters;
use crate::Api;

pub(crate) async fn login(api: Data<Api>, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    if let Some(sent_home) = api.browsers.send_home(&request) {
        return Ok(sent_home);
    }
    let wish = match LoginQuery::from_request(&request) {
        Ok(query) => query.into(),
        Err(refusal) => return api.browsers.fail(&request, None, refusal),
    };
    let browser = api.browsers.browser_secret(&request);
    let sign_in = api.provider_sign_in.clone();
    // That it failed is told in more than one way, so it is no failure here.
    let begin = async move { Ok::<_, Unavailable>(sign_in.begin(wish, browser).await) };
    match api.runner.run(begin).await? {
        Ok(begun) => Ok(api.browsers.depart(&begun.url, &begun.browser)),
        Err(BeginError::Failed(err)) => api.browsers.fail(&request, err.back, err.why.into()),
        Err(err) => api.browsers.fail(&request, None, err.into()),
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
    /// Comes back to the letter; 1024 characters at most.
    state: Option<String>,
}

impl LoginQuery {
    fn from_request(request: &HttpRequest) -> Result<Self, ApiError> {
        let parameters = Parameters::from_request(request)?;
        Ok(Self {
            provider: parameters.one("provider")?,
            redirect_uri: parameters.one("redirect_uri")?,
            code_challenge: parameters.one("code_challenge")?,
            code_challenge_method: parameters.one("code_challenge_method")?,
            state: parameters.one("state")?,
        })
    }
}

impl From<LoginQuery> for ProviderWish {
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
