//! `POST /auth/mfa/totp/begin`: setting an authenticator app up.

use actix_web::web::{Data, Json};
use pia_identity::Enrolment;
use pia_web::{ApiError, Caller};
use serde::Serialize;
use utoipa::ToSchema;

use crate::Api;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TotpEnrolment {
    /// The secret in base 32, for apps without a camera.
    secret: String,
    /// The same for apps: `otpauth://totp/…`.
    otpauth_uri: String,
    /// The same as a picture: a `data:` URI of an SVG.
    qr_code: String,
}

/// Whatever body comes along says nothing, and is not read.
pub(crate) async fn begin(caller: Caller, api: Data<Api>) -> Result<Json<TotpEnrolment>, ApiError> {
    let (factors, user) = (api.second_factors.clone(), caller.0.user);
    let begin = async move { factors.begin(user).await };
    Ok(Json(TotpEnrolment::new(&api.runner.run(begin).await?)))
}

impl TotpEnrolment {
    fn new(shown: &Enrolment) -> Self {
        Self {
            secret: shown.secret.expose().clone(),
            otpauth_uri: shown.uri.expose().clone(),
            qr_code: shown.picture.expose().clone(),
        }
    }
}
