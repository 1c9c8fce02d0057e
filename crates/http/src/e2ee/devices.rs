//! `/api/e2ee/devices`: devices of a user, and their revocation.

use actix_web::web::{Data, Json};
use pia_e2ee::{Device, DeviceState, KeyState, ListedDevice};
use pia_kernel::{Timestamp, Unavailable};
use pia_web::Caller;
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::Done;
use crate::e2ee::PathDevice;
use crate::{Api, HttpError};

const PENDING: i32 = 0;
const ACTIVE: i32 = 1;
const REVOKED: i32 = 2;

/// Lists the caller's devices.
pub(crate) async fn devices(
    caller: Caller,
    api: Data<Api>,
) -> Result<Json<DeviceListResponse>, HttpError> {
    let user = caller.0.user;
    let (listed, state): (Vec<ListedDevice>, KeyState) = api
        .run(|api| async move {
            Ok::<_, Unavailable>((
                api.e2ee.devices.list(user).await?,
                api.e2ee.devices.state(user).await?,
            ))
        })
        .await?;
    Ok(Json(DeviceListResponse {
        devices: listed.into_iter().map(Into::into).collect(),
        has_recovery_key: state.recovery,
        umk_version: state.umk_version,
    }))
}

/// Returns the status of a device.
pub(crate) async fn device_status(
    caller: Caller,
    api: Data<Api>,
    PathDevice(id): PathDevice,
) -> Result<Json<DeviceStatusResponse>, HttpError> {
    let user = caller.0.user;
    Ok(Json(api.run(|api| async move { api.e2ee.devices.find(user, &id).await }).await?.into()))
}

/// Revokes an active or pending device.
pub(crate) async fn revoke(
    caller: Caller,
    api: Data<Api>,
    PathDevice(id): PathDevice,
) -> Result<Json<Done>, HttpError> {
    let user = caller.0.user;
    api.run(|api| async move { api.e2ee.devices.revoke(user, &id).await }).await?;
    Ok(Json(Done::success()))
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeviceListResponse {
    /// Devices in the order of their first registration.
    devices: Vec<DeviceInfo>,
    has_recovery_key: bool,
    /// Version of the account's key in use; 0 before the first.
    umk_version: i32,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct DeviceInfo {
    device_id: String,
    device_name: String,
    /// 0 pending, 1 active, 2 revoked.
    status: i32,
    agreement_public_key: String,
    signing_public_key: String,
    /// Start of the SHA-256 of the agreement key: `XXXX-XXXX-XXXX-XXXX`.
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    /// Onboarding session of a pending device, while it can be approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    onboarding_session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    os_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    app_version: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    activated_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    revoked_at: Option<Timestamp>,
    /// Time of the device's last operation on keys.
    #[schema(value_type = String, format = DateTime)]
    last_seen_at: Timestamp,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeviceStatusResponse {
    device_id: String,
    /// 0 pending, 1 active, 2 revoked.
    status: i32,
    is_approved: bool,
}

fn status_number(state: &DeviceState) -> i32 {
    match state {
        DeviceState::Pending(_) => PENDING,
        DeviceState::Active(_) => ACTIVE,
        DeviceState::Revoked => REVOKED,
    }
}

impl From<Device> for DeviceStatusResponse {
    fn from(device: Device) -> Self {
        let status = status_number(&device.state);
        let device_id = device.id.as_str().to_owned();
        Self { device_id, status, is_approved: status == ACTIVE }
    }
}

impl From<ListedDevice> for DeviceInfo {
    fn from(ListedDevice { device, onboarding }: ListedDevice) -> Self {
        Self {
            device_id: device.id.as_str().to_owned(),
            status: status_number(&device.state),
            fingerprint: device.fingerprint(),
            device_name: device.name,
            agreement_public_key: device.agreement_key,
            signing_public_key: device.signing_key,
            onboarding_session_id: onboarding,
            os_version: device.os_version,
            app_version: device.app_version,
            created_at: device.created_at,
            activated_at: device.activated_at,
            revoked_at: device.revoked_at,
            last_seen_at: device.seen_at,
        }
    }
}
