//! `POST /auth/mfa/totp/begin`: enrolment of an authenticator app.

use actix_web::web::{Data, Json};
use pia_identity::Enrolment;
use pia_kernel::Secret;
use pia_web::{ApiError, Body, Caller};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Api;

/// Begins the setup of an authenticator app.
pub(crate) async fn begin(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<TotpBeginRequest>,
) -> Result<Json<TotpEnrolment>, ApiError> {
    let session_ref = caller.session_ref()?;
    let enrolment =
        api.run(|api| async move {
            api.identity.second_factors.begin(session_ref, request.password).await
        })
        .await?;
    Ok(Json(TotpEnrolment::new(&enrolment)))
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct TotpBeginRequest {
    /// The account's password, if it has one.
    #[schema(value_type = Option<String>)]
    password: Option<Secret<String>>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TotpEnrolment {
    /// The secret in base 32, for apps without a camera.
    secret: String,
    /// URI for apps: `otpauth://totp/…`.
    otpauth_uri: String,
    /// QR code of the URI: a `data:` URI of an SVG.
    qr_code: String,
}

impl TotpEnrolment {
    fn new(enrolment: &Enrolment) -> Self {
        Self {
            secret: enrolment.secret.expose().clone(),
            otpauth_uri: enrolment.uri.expose().clone(),
            qr_code: enrolment.picture.expose().clone(),
        }
    }
}
