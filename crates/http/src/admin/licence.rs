//! `/api/admin/license`.

use actix_web::web::{Data, Json};
use pia_kernel::Timestamp;
use pia_policy::Licence;
use pia_web::{Body, Caller};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Api, HttpError};

/// Replaces the licence, which is in force at once.
pub(crate) async fn replace(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<LicenceRequest>,
) -> Result<Json<LicenceResponse>, HttpError> {
    let by = caller.0.user;
    let text = request.license.unwrap_or_default();
    let licence =
        api.run(|api| async move { api.licences.replace(by, text.as_bytes()).await }).await?;
    Ok(Json(licence.into()))
}

#[derive(Deserialize, ToSchema)]
pub(crate) struct LicenceRequest {
    /// Text of the licence file.
    #[schema(value_type = String)]
    license: Option<String>,
}

/// Licence in force.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LicenceResponse {
    licensee: String,
    edition: String,
    features: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
}

impl From<Licence> for LicenceResponse {
    fn from(licence: Licence) -> Self {
        Self {
            licensee: licence.licensee,
            edition: licence.edition,
            features: licence.features.iter().map(|it| it.name()).collect(),
            expires_at: licence.expires_at,
        }
    }
}
