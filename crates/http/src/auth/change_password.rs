//! `POST /auth/password`: choosing another password.

use actix_web::web::{Data, Json};
use pia_kernel::Secret;
use pia_web::{ApiError, Body, Caller, FieldError};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::Api;
use crate::auth::Done;
use crate::auth::reset_password::required;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChangePasswordRequest {
    #[schema(value_type = String)]
    current_password: Option<Secret<String>>,
    #[schema(value_type = String)]
    new_password: Option<Secret<String>>,
}

pub(crate) async fn change_password(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<ChangePasswordRequest>,
) -> Result<Json<Done>, ApiError> {
    let absent = request.absent();
    let (Some(current), Some(new)) = (request.current_password, request.new_password) else {
        return Err(ApiError::invalid(absent));
    };
    let (passwords, claim) = (api.passwords.clone(), caller.claim());
    let change = async move { passwords.change(claim, current, new).await };
    api.runner.run(change).await?;
    Ok(Json(Done::success()))
}

impl ChangePasswordRequest {
    fn absent(&self) -> Vec<FieldError> {
        let fields = [
            ("currentPassword", self.current_password.is_none()),
            ("newPassword", self.new_password.is_none()),
        ];
        fields.into_iter().filter(|it| it.1).map(|(field, _)| required(field)).collect()
    }
}
