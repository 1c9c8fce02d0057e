//! `GET /auth/callback`: return of a browser from an identity provider.

use actix_web::http::Method;
use actix_web::web::{Data, Json};
use actix_web::{Either, HttpRequest, HttpResponse};
use pia_identity::{CallbackOutcome, ProviderCallback};
use pia_kernel::{Secret, Unavailable};
use pia_web::{ApiError, FromDevice, Gates};
use utoipa::ToSchema;

use super::parameters::Parameters;
use crate::Api;
use crate::auth::SignInResponse;

/// Completes a sign-in at an identity provider.
pub(crate) async fn callback(
    api: Data<Api>,
    gates: Data<Gates>,
    FromDevice(device): FromDevice,
    request: HttpRequest,
) -> Result<Either<HttpResponse, Json<SignInResponse>>, ApiError> {
    let callback = match CallbackQuery::from_request(&request) {
        Ok(query) => query.into(),
        Err(refusal) => {
            return api.browsers.report_failure(&request, None, refusal).map(Either::Left);
        }
    };

    let browser = api.browsers.browser_secret(&request);
    let result = api
        .run(|api| async move {
            Ok::<_, Unavailable>(
                api.identity.provider_sign_in.finish(callback, browser, device).await,
            )
        })
        .await?;
    match result {
        Ok(CallbackOutcome::Onward { url, verifier }) => {
            Ok(Either::Left(api.browsers.redirect_to_target(&url, verifier.as_ref())))
        }
        Ok(CallbackOutcome::Here(signed_in)) => {
            let owes_declaration = gates.rules.get().owes_declaration(signed_in.account.customer);
            Ok(Either::Right(Json(SignInResponse::new(signed_in, owes_declaration))))
        }
        Err(err) => api
            .browsers
            .report_failure(&request, err.return_state, err.reason.into())
            .map(Either::Left),
    }
}

/// Parameters with which an identity provider redirects a browser back.
#[derive(Default, ToSchema)]
pub(crate) struct CallbackQuery {
    /// State of the sign-in that returns.
    #[schema(required = true)]
    state: Option<String>,
    /// Authorisation code.
    code: Option<String>,
    /// Reason why the sign-in failed.
    error: Option<String>,
    /// Issuer of the provider (RFC 9207).
    iss: Option<String>,
}

impl CallbackQuery {
    fn from_request(request: &HttpRequest) -> Result<Self, ApiError> {
        if request.method() == Method::HEAD {
            // `HEAD` redeems nothing: it is handled as a callback without
            // parameters.
            return Ok(Self::default());
        }

        let parameters = Parameters::from_request(request)?;
        Ok(Self {
            state: parameters.single("state")?,
            code: parameters.single("code")?,
            error: parameters.single("error")?,
            iss: parameters.single("iss")?,
        })
    }
}

impl From<CallbackQuery> for ProviderCallback {
    fn from(query: CallbackQuery) -> Self {
        Self {
            state: query.state.map(Secret::new),
            code: query.code.map(Secret::new),
            error: query.error,
            issuer: query.iss,
        }
    }
}
