//! `/api/e2ee/recovery/activate`: activation of a device by the recovery code.

use actix_web::web::{Data, Json};
use pia_e2ee::ActivationForm;
use pia_identity::ReauthProof;
use pia_web::{ApiError, Body, Caller};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::auth::Done;
use crate::auth::mfa::FreshProofRequest;
use crate::{Api, HttpError};

/// Activates a device that opened the recovery copy.
pub(crate) async fn activate(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<RecoveryActivationRequest>,
) -> Result<Json<Done>, HttpError> {
    let (form, proof) = request.split()?;
    api.run(|api| async move {
        let owner = api.owner(caller.0, proof).await?;
        api.e2ee.recovery.activate(owner, form).await.map_err(HttpError::from)
    })
    .await?;
    Ok(Json(Done::success()))
}

/// Account's key, wrapped by the device for itself, and a proof that the device knows
/// it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecoveryActivationRequest {
    #[schema(value_type = String)]
    device_id: Option<String>,
    /// Wrapped key: 60 bytes in base64.
    #[schema(value_type = String)]
    self_wrapped_umk: Option<String>,
    /// 32 bytes in base64.
    #[schema(value_type = String)]
    hkdf_salt: Option<String>,
    /// HMAC-SHA-256 under the proof key over the session's text, in base64.
    #[schema(value_type = String)]
    proof_of_possession: Option<String>,
    #[schema(value_type = String)]
    onboarding_session_id: Option<String>,
    /// Needed where no proof key is on file, unless the user has just signed in.
    #[serde(flatten)]
    proof: FreshProofRequest,
}

impl RecoveryActivationRequest {
    fn split(self) -> Result<(ActivationForm, Option<ReauthProof>), ApiError> {
        let form = ActivationForm {
            device_id: self.device_id,
            self_wrapped_umk: self.self_wrapped_umk,
            hkdf_salt: self.hkdf_salt,
            proof_of_possession: self.proof_of_possession,
            onboarding_session_id: self.onboarding_session_id,
        };
        Ok((form, self.proof.proof_if_any()?))
    }
}
