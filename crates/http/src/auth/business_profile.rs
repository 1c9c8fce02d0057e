//! `POST /auth/business-profile`: declaration as a trader.

use actix_web::web::{Data, Json};
use pia_identity::TraderDeclaration;
use pia_web::{ApiError, Body, Caller};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::Api;
use crate::auth::Done;

/// Declares that the caller uses the service as a business.
pub(crate) async fn declare(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<BusinessProfileRequest>,
) -> Result<Json<Done>, ApiError> {
    let user = caller.0.user;
    let declaration = TraderDeclaration {
        company_name: request.company_name,
        acting_as_business: request.acting_as_business.unwrap_or_default(),
    };
    api.run(|api| async move { api.identity.accounts.declare_business(user, declaration).await })
        .await?;
    Ok(Json(Done::success()))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BusinessProfileRequest {
    #[schema(value_type = String)]
    company_name: Option<String>,
    /// Must be true.
    #[schema(value_type = bool)]
    acting_as_business: Option<bool>,
}
