//! `POST /auth/account/delete`: leaving for good.

use actix_web::web::{Data, Json};
use pia_identity::Farewell;
use pia_kernel::Secret;
use pia_web::{ApiError, Body, Caller};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Api;

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct DeleteRequest {
    /// The word `DELETE`.
    confirm: Option<String>,
    /// Of an account with a password of its own.
    #[schema(value_type = Option<String>)]
    password: Option<Secret<String>>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct DeleteResponse {
    /// Always true.
    deleted: bool,
}

pub(crate) async fn delete(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<DeleteRequest>,
) -> Result<Json<DeleteResponse>, ApiError> {
    let (deletion, claim) = (api.deletion.clone(), caller.claim());
    let DeleteRequest { confirm, password } = request;
    let delete = async move { deletion.delete(claim, Farewell { confirm, password }).await };
    api.runner.run(delete).await?;
    Ok(Json(DeleteResponse { deleted: true }))
}
