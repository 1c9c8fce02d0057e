//! `/api/e2ee/devices/approve`: approval of a device by another one.

use actix_web::web::{Data, Json};
use pia_e2ee::ApprovalForm;
use pia_web::{Body, Caller};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::auth::Done;
use crate::{Api, HttpError};

/// Approves a pending device with the signature of an active one.
pub(crate) async fn approve(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<DeviceApprovalRequest>,
) -> Result<Json<Done>, HttpError> {
    let user = caller.0.user;
    api.run(|api| async move { api.e2ee.devices.approve(user, request.into()).await }).await?;
    Ok(Json(Done::success()))
}

/// Account's key, wrapped for the pending device and signed by the approving one.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeviceApprovalRequest {
    #[schema(value_type = String)]
    onboarding_session_id: Option<String>,
    #[schema(value_type = String)]
    target_device_id: Option<String>,
    /// Wrapped key: 60 bytes in base64.
    #[schema(value_type = String)]
    wrapped_umk: Option<String>,
    /// 32 bytes in base64.
    #[schema(value_type = String)]
    hkdf_salt: Option<String>,
    /// ECDSA signature with P-256 and SHA-256: base64 of `r` followed by `s`.
    #[schema(value_type = String)]
    approver_signature: Option<String>,
    /// Version of the signed message: 1, the default, or 2.
    signature_version: Option<i64>,
    #[schema(value_type = String)]
    approver_device_id: Option<String>,
}

impl From<DeviceApprovalRequest> for ApprovalForm {
    fn from(request: DeviceApprovalRequest) -> Self {
        Self {
            onboarding_session_id: request.onboarding_session_id,
            target_device_id: request.target_device_id,
            wrapped_umk: request.wrapped_umk,
            hkdf_salt: request.hkdf_salt,
            approver_signature: request.approver_signature,
            signature_version: request.signature_version,
            approver_device_id: request.approver_device_id,
        }
    }
}
