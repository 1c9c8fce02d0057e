//! `/api/e2ee/devices/{deviceId}/wrapped-umk`: the account's key as only one
//! device can open it.

use actix_web::web::{Data, Json};
use pia_e2ee::{DeviceId, KeyForm, WrappedKey};
use pia_kernel::Timestamp;
use pia_web::{ApiError, Body, Caller, PathDevice};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::WRAP_VERSION;
use crate::Api;
use crate::auth::Done;

/// A key that a device wrapped for itself. Who made it and what vouches for it
/// is not read: it is the device's own.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WrappedUmkRequest {
    /// The device in the path, if anything.
    device_id: Option<String>,
    /// 60 bytes in base64; kept as it is sent, as the salt is.
    ciphertext: Option<String>,
    /// 32 bytes in base64.
    hkdf_salt: Option<String>,
    /// 1, which is meant where there is none.
    wrap_version: Option<i64>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WrappedUmkResponse {
    device_id: String,
    ciphertext: String,
    hkdf_salt: String,
    wrap_version: i32,
    created_by_device_id: String,
    /// By what the device vouches that made it, if that is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    approver_signature: Option<String>,
    signature_version: i16,
    #[serde(skip_serializing_if = "Option::is_none")]
    onboarding_session_id: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

pub(crate) async fn wrapped_umk(
    caller: Caller,
    api: Data<Api>,
    PathDevice(id): PathDevice,
) -> Result<Json<WrappedUmkResponse>, ApiError> {
    let (devices, user, asked) = (api.devices.clone(), caller.0.user, id.clone());
    let find = async move { devices.key_of(user, &asked).await };
    Ok(Json(told(&id, api.runner.run(find).await?)))
}

pub(crate) async fn keep_wrapped_umk(
    caller: Caller,
    api: Data<Api>,
    PathDevice(id): PathDevice,
    Body(request): Body<WrappedUmkRequest>,
) -> Result<Json<Done>, ApiError> {
    let (devices, user) = (api.devices.clone(), caller.0.user);
    let keep = async move { devices.keep_key(user, &id, request.into()).await };
    api.runner.run(keep).await?;
    Ok(Json(Done::success()))
}

fn told(device: &DeviceId, key: WrappedKey) -> WrappedUmkResponse {
    let (signature, version, onboarding) = match key.approved {
        Some(it) => (Some(it.signature), it.version, Some(it.onboarding)),
        None => (None, 1, None),
    };
    WrappedUmkResponse {
        device_id: device.as_str().to_owned(),
        ciphertext: key.ciphertext,
        hkdf_salt: key.salt,
        wrap_version: WRAP_VERSION,
        created_by_device_id: key.created_by.as_str().to_owned(),
        approver_signature: signature,
        signature_version: version,
        onboarding_session_id: onboarding,
        created_at: key.created_at,
    }
}

impl From<WrappedUmkRequest> for KeyForm {
    fn from(request: WrappedUmkRequest) -> Self {
        let WrappedUmkRequest { device_id, ciphertext, hkdf_salt, wrap_version } = request;
        Self { device_id, ciphertext, hkdf_salt, wrap_version }
    }
}
