//! `/api/e2ee/devices/register`: registration of a device.

use actix_web::web::{Data, Json};
use pia_e2ee::{DeviceForm, RegisteredDevice};
use pia_web::{Body, Caller};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Api, HttpError};

/// Registers a device, which can be approved for ten minutes.
pub(crate) async fn register(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<DeviceRegistrationRequest>,
) -> Result<Json<DeviceRegistrationResponse>, HttpError> {
    let user = caller.0.user;
    let device =
        api.run(|api| async move { api.e2ee.devices.register(user, request.into()).await }).await?;
    Ok(Json(device.into()))
}

/// Self-description of a device.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeviceRegistrationRequest {
    /// Id chosen by the device: up to 64 letters, digits, `-`, `_`, `.`.
    #[schema(value_type = String)]
    device_id: Option<String>,
    #[schema(value_type = String)]
    device_name: Option<String>,
    /// Uncompressed P-256 point: 65 bytes in base64.
    #[schema(value_type = String)]
    agreement_public_key: Option<String>,
    #[schema(value_type = String)]
    signing_public_key: Option<String>,
    os_version: Option<String>,
    app_version: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeviceRegistrationResponse {
    /// Onboarding session of the device; usable once, for ten minutes.
    onboarding_session_id: String,
    /// Random bytes in base64.
    server_challenge: String,
    /// True if the device must create the account's key.
    is_first_device: bool,
}

impl From<DeviceRegistrationRequest> for DeviceForm {
    fn from(request: DeviceRegistrationRequest) -> Self {
        Self {
            device_id: request.device_id,
            device_name: request.device_name,
            agreement_public_key: request.agreement_public_key,
            signing_public_key: request.signing_public_key,
            os_version: request.os_version,
            app_version: request.app_version,
        }
    }
}

impl From<RegisteredDevice> for DeviceRegistrationResponse {
    fn from(registered: RegisteredDevice) -> Self {
        let RegisteredDevice { onboarding, challenge, is_first } = registered;
        Self {
            onboarding_session_id: onboarding,
            server_challenge: challenge,
            is_first_device: is_first,
        }
    }
}
