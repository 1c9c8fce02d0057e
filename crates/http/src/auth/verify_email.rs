//! `GET /auth/verify-email`: target of the link in an email.

use actix_web::http::Method;
use actix_web::http::header::LOCATION;
use actix_web::web::{Data, Query};
use actix_web::{HttpRequest, HttpResponse};
use pia_identity::VerifyError;
use pia_kernel::{Secret, UserId};
use pia_web::{ApiError, BasePath, FieldError, reads_json, reads_pages};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::Api;
use crate::auth::Done;
use crate::auth::reset_password::missing_fields;

/// Redeems the token at once for a program that accepts `application/json`.
/// Every other request is redirected to a page with a button: email scanners
/// open links with arbitrary headers.
pub(crate) async fn verify_email(
    request: HttpRequest,
    api: Data<Api>,
) -> Result<HttpResponse, ApiError> {
    let headers = request.headers();
    let is_head = request.method() == Method::HEAD;
    if is_head || reads_pages(headers) || !reads_json(headers) {
        return Ok(page(&request));
    }
    let (user, token) = VerificationLink::parse(request.query_string())?.into_user_and_token()?;
    api.run(|api| async move { api.identity.verification.redeem(user, &token).await }).await?;
    Ok(HttpResponse::Ok().json(Done::success()))
}

/// The query of a link.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VerificationLink {
    /// Account whose email address is verified.
    #[schema(required = true)]
    user_id: Option<String>,
    /// Token from the email.
    #[schema(required = true, value_type = Option<String>)]
    token: Option<Secret<String>>,
}

impl VerificationLink {
    fn parse(query: &str) -> Result<Self, ApiError> {
        let link = Query::<Self>::from_query(query).map_err(|_err| {
            let message = "The query string is malformed.".to_owned();
            ApiError::invalid(vec![FieldError { field: String::new(), code: "invalid", message }])
        })?;
        Ok(link.into_inner())
    }

    /// Returns id and token: an invalid id belongs to no user, and an invalid
    /// token is valid for none.
    fn into_user_and_token(self) -> Result<(UserId, Secret<String>), ApiError> {
        let missing =
            missing_fields(&[("userId", self.user_id.is_none()), ("token", self.token.is_none())]);
        let (Some(id), Some(token)) = (self.user_id, self.token) else {
            return Err(ApiError::invalid(missing));
        };
        let user = serde_json::from_value(id.into()).map_err(|_err| VerifyError::Invalid)?;
        Ok((user, token))
    }
}

fn page(request: &HttpRequest) -> HttpResponse {
    let base = request.app_data::<Data<BasePath>>().map_or("", |it| it.0.as_str());
    let location = format!("{base}/auth/verify-email.html?{}", request.query_string());
    HttpResponse::Found().insert_header((LOCATION, location)).finish()
}
