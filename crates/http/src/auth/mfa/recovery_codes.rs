//! `POST /auth/mfa/recovery-codes/regenerate`: new recovery codes.

use actix_web::web::{Data, Json};
use pia_identity::RecoveryCodes;
use pia_web::{ApiError, Body, Caller};
use serde::Serialize;
use utoipa::ToSchema;

use crate::Api;
use crate::auth::mfa::FreshProofRequest;

/// Replaces the recovery codes by new ones.
pub(crate) async fn regenerate(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<FreshProofRequest>,
) -> Result<Json<RecoveryCodesResponse>, ApiError> {
    let session_ref = caller.session_ref()?;
    let proof = request.proof()?;
    let codes =
        api.run(|api| async move {
            api.identity.second_factors.regenerate_codes(session_ref, proof).await
        })
        .await?;
    Ok(Json(codes.into()))
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
