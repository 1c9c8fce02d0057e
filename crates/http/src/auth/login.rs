//! `POST /auth/login/local`: signing in with a password.

use actix_web::web::{Data, Json};
use pia_kernel::Secret;
use pia_web::{ApiError, Body, FieldError, FromDevice, FromProgram, Gates};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::Api;
use crate::auth::TokenEnvelope;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoginRequest {
    email: Option<String>,
    #[schema(value_type = Option<String>)]
    password: Option<Secret<String>>,
}

pub(crate) async fn login(
    api: Data<Api>,
    gates: Data<Gates>,
    FromProgram(program): FromProgram,
    FromDevice(device): FromDevice,
    Body(request): Body<LoginRequest>,
) -> Result<Json<TokenEnvelope>, ApiError> {
    let (Some(email), Some(password)) = (request.email, request.password) else {
        return Err(ApiError::invalid(vec![FieldError {
            field: String::new(),
            code: "required",
            message: "Both `email` and `password` are needed.".to_owned(),
        }]));
    };
    let sign_in = api.sign_in.clone();
    let login = async move { sign_in.local(&email, password, program, device).await };
    let signed_in = api.runner.run(login).await?;
    let owes = gates.rules.get().owes_declaration(signed_in.account.customer);
    Ok(Json(TokenEnvelope::new(signed_in, owes)))
}
