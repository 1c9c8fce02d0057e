//! `POST /admin/login`: sign-in to the console.

use actix_web::HttpResponse;
use actix_web::http::header::SET_COOKIE;
use actix_web::web::Data;
use pia_identity::{BrowserArea, BrowserSession};
use pia_kernel::Secret;
use pia_web::{ApiError, Body, FromDevice, Gates};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Api;
use crate::auth::mfa::factor_answer;
use crate::auth::missing_fields;

/// Signs in to the console and sets its cookie.
pub(crate) async fn login(
    api: Data<Api>,
    gates: Data<Gates>,
    FromDevice(device): FromDevice,
    Body(request): Body<AdminLoginRequest>,
) -> Result<HttpResponse, ApiError> {
    let area = BrowserArea::Console;
    let session = if let Some(token) = request.mfa_token {
        let answer = factor_answer(request.code, request.recovery_code)?;
        api.run(|api| async move {
            api.identity.browser_sign_in.factor(area, &token, &answer, device).await
        })
        .await?
    } else {
        let missing = missing_fields(&[
            ("email", request.email.is_none()),
            ("password", request.password.is_none()),
        ]);
        let (Some(email), Some(password)) = (request.email, request.password) else {
            return Err(ApiError::invalid(missing));
        };

        let sign_in = api.identity.browser_sign_in.clone();
        // Boxed, because the future of a sign-in is large.
        let login = async move { Box::pin(sign_in.password(area, &email, password, device)).await };
        // Hashing a password is expensive: `sign_ins` limits how many run at once.
        api.sign_ins.run(login).await?
    };

    let BrowserSession { cookie, csrf_token, lifetime, .. } = session;
    let body = AdminSessionResponse { csrf_token, expires_in: lifetime.as_secs() };
    let cookie = gates.console_cookie.set(cookie.expose(), lifetime);

    Ok(HttpResponse::Ok().insert_header((SET_COOKIE, cookie)).json(body))
}

/// Email and password or, after the refusal `mfa_required`, its token and a
/// code or recovery code.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AdminLoginRequest {
    email: Option<String>,
    #[schema(value_type = Option<String>)]
    password: Option<Secret<String>>,
    /// Token of the refusal `mfa_required`.
    #[schema(value_type = Option<String>)]
    mfa_token: Option<Secret<String>>,
    /// Six-digit code of the authenticator app.
    #[schema(value_type = Option<String>)]
    code: Option<Secret<String>>,
    #[schema(value_type = Option<String>)]
    recovery_code: Option<Secret<String>>,
}

/// The session's token against forged requests; its cookie comes with the
/// response.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AdminSessionResponse {
    /// Value of the header `X-CSRF-Token` of every write.
    csrf_token: String,
    /// Seconds until the session ends however it is used.
    expires_in: u64,
}
