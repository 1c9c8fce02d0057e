//! `/api/e2ee/recovery/activate`: a device comes in by the recovery code.

use actix_web::web::{Data, Json};
use pia_e2ee::ActivationForm;
use pia_web::{ApiError, Body, Caller};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::Api;
use crate::auth::Done;

/// The account's key, wrapped by the device for itself, and the proof that it
/// has it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecoveryActivationRequest {
    device_id: Option<String>,
    /// 60 bytes in base64; kept as it is sent, as the salt is.
    self_wrapped_umk: Option<String>,
    /// 32 bytes in base64.
    hkdf_salt: Option<String>,
    /// HMAC-SHA-256 under the proof key over the session's text, in base64.
    proof_of_possession: Option<String>,
    onboarding_session_id: Option<String>,
}

pub(crate) async fn activate(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<RecoveryActivationRequest>,
) -> Result<Json<Done>, ApiError> {
    let (recovery, user) = (api.recovery.clone(), caller.0.user);
    let activate = async move { recovery.activate(user, request.into()).await };
    api.runner.run(activate).await?;
    Ok(Json(Done::success()))
}

impl From<RecoveryActivationRequest> for ActivationForm {
    fn from(request: RecoveryActivationRequest) -> Self {
        Self {
            device_id: request.device_id,
            self_wrapped_umk: request.self_wrapped_umk,
            hkdf_salt: request.hkdf_salt,
            proof_of_possession: request.proof_of_possession,
            onboarding_session_id: request.onboarding_session_id,
        }
    }
}
