//! `GET /auth/callback`: a browser comes back from an identity provider.

use actix_web::http::Method;
use actix_web::web::{Data, Json};
use actix_web::{Either, HttpRequest, HttpResponse};
use pia_identity::{Arrived, ProviderAnswer};
use pia_kernel::{Secret, Unavailable};
use pia_web::{ApiError, FromDevice, Gates};

use super::{Browsers, parameters::Parameters};
use crate::Api;
use crate::auth::TokenEnvelope;

pub(crate) async fn callback(
    api: Data<Api>,
    gates: Data<Gates>,
    FromDevice(device): FromDevice,
    request: HttpRequest,
) -> Result<Either<HttpResponse, Json<TokenEnvelope>>, ApiError> {
    let (answer, browser) = (answer(&request)?, Browsers::known(&request));
    let sign_in = api.provider_sign_in.clone();
    let finish = async move { Ok::<_, Unavailable>(sign_in.finish(answer, browser, device).await) };
    match api.runner.run(finish).await? {
        Ok(Arrived::Onward { url, verifier }) => {
            Ok(Either::Left(api.browsers.arrive(&url, verifier.as_ref())))
        }
        Ok(Arrived::Here(signed_in)) => {
            let owes = gates.rules.get().owes_declaration(signed_in.account.customer);
            Ok(Either::Right(Json(TokenEnvelope::new(signed_in, owes))))
        }
        Err(err) => api.browsers.fail(&request, err).map(Either::Left),
    }
}

fn answer(request: &HttpRequest) -> Result<ProviderAnswer, ApiError> {
    if request.method() == Method::HEAD {
        // Whatever only looks spends nothing: it is told what nobody's answer is.
        return Ok(ProviderAnswer { state: None, code: None, error: None, issuer: None });
    }
    let parameters = Parameters::of(request)?;
    Ok(ProviderAnswer {
        state: parameters.one("state")?.map(Secret::new),
        code: parameters.one("code")?.map(Secret::new),
        error: parameters.one("error")?,
        issuer: parameters.one("iss")?,
    })
}
