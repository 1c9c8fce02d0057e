//! `POST /auth/mfa/recovery-codes/regenerate`: new recovery codes.

use actix_web::web::{Data, Json};
use pia_identity::RecoveryCodes;
use pia_web::{ApiError, Body, Caller};
use serde::Serialize;
use utoipa::ToSchema;

use crate::Api;
use crate::auth::mfa::FreshProofRequest;

pub(crate) async fn regenerate(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<FreshProofRequest>,
) -> Result<Json<RecoveryCodesResponse>, ApiError> {
    let factors = api.identity.second_factors.clone();
    let session_ref = caller.session_ref()?;
    let proof = request.proof()?;
    let regenerate = async move { factors.regenerate_codes(session_ref, proof).await };
    Ok(Json(api.runner.run(regenerate).await?.into()))
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecoveryCodesResponse {
    success: bool,
    /// Codes that each work once. They are not shown again.
    recovery_codes: Vec<String>,
}

impl From<RecoveryCodes> for RecoveryCodesResponse {
    fn from(codes: RecoveryCodes) -> Self {
        let recovery_codes = codes.0.iter().map(|it| it.expose().clone()).collect();
        Self { success: true, recovery_codes }
    }
}
