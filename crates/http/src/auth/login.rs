//! `POST /auth/login/local`: sign-in with a password.

use actix_web::web::{Data, Json};
use pia_kernel::Secret;
use pia_web::{ApiError, Body, FieldError, FromDevice, FromProgram, Gates};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::Api;
use crate::auth::SignInResponse;
use crate::auth::reset_password::missing_fields;

/// Signs in with a password.
pub(crate) async fn login(
    api: Data<Api>,
    gates: Data<Gates>,
    FromProgram(program): FromProgram,
    FromDevice(device): FromDevice,
    Body(request): Body<LoginRequest>,
) -> Result<Json<SignInResponse>, ApiError> {
    let missing = request.missing();
    let (Some(email), Some(password)) = (request.email, request.password) else {
        return Err(ApiError::invalid(missing));
    };
    let sign_in = api.identity.sign_in.clone();
    let login = async move { sign_in.local(&email, password, program, device).await };
    let signed_in = api.sign_ins.run(login).await?;
    let owes_declaration = gates.rules.get().owes_declaration(signed_in.account.customer);
    Ok(Json(SignInResponse::new(signed_in, owes_declaration)))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoginRequest {
    #[schema(value_type = String)]
    email: Option<String>,
    #[schema(value_type = String)]
    password: Option<Secret<String>>,
}

impl LoginRequest {
    fn missing(&self) -> Vec<FieldError> {
        missing_fields(&[("email", self.email.is_none()), ("password", self.password.is_none())])
    }
}
