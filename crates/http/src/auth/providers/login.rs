//! `GET /auth/login`: a browser goes to an identity provider.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use pia_identity::{BeginError, ProviderWish};
use pia_kernel::Unavailable;
use pia_web::ApiError;

use super::{Browsers, parameters::Parameters};
use crate::Api;

pub(crate) async fn login(api: Data<Api>, request: HttpRequest) -> Result<HttpResponse, ApiError> {
    if let Some(sent_home) = api.browsers.send_home(&request) {
        return Ok(sent_home);
    }
    let (wish, browser) = (wish(&request)?, Browsers::known(&request));
    let sign_in = api.provider_sign_in.clone();
    // That it failed is told in more than one way, so it is no failure here.
    let begin = async move { Ok::<_, Unavailable>(sign_in.begin(wish, browser).await) };
    match api.runner.run(begin).await? {
        Ok(begun) => Ok(api.browsers.depart(&begun.url, &begun.browser)),
        Err(BeginError::Failed(err)) => api.browsers.fail(&request, err),
        Err(err) => Err(err.into()),
    }
}

fn wish(request: &HttpRequest) -> Result<ProviderWish, ApiError> {
    let parameters = Parameters::of(request)?;
    Ok(ProviderWish {
        provider: parameters.one("provider")?,
        target: parameters.one("redirect_uri")?,
        challenge: parameters.one("code_challenge")?,
        challenge_method: parameters.one("code_challenge_method")?,
        state: parameters.one("state")?,
    })
}
