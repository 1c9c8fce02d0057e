//! `/api/e2ee/devices/{deviceId}/wrapped-umk`: the account's key, wrapped for
//! one device.

use actix_web::web::{Data, Json};
use pia_e2ee::{DeviceId, KeyForm, WrappedKey};
use pia_identity::ReauthProof;
use pia_kernel::Timestamp;
use pia_web::{ApiError, Body, Caller};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::WRAP_VERSION;
use crate::auth::Done;
use crate::auth::mfa::FreshProofRequest;
use crate::e2ee::PathDevice;
use crate::{Api, HttpError};

/// Returns the account's key, wrapped for a device.
pub(crate) async fn wrapped_umk(
    caller: Caller,
    api: Data<Api>,
    PathDevice(id): PathDevice,
) -> Result<Json<WrappedUmkResponse>, HttpError> {
    let user = caller.0.user;
    let device = id.clone();
    let key = api.run(|api| async move { api.e2ee.devices.key_of(user, &device).await }).await?;
    Ok(Json(to_response(&id, key)))
}

/// Stores the account's key, wrapped by a device for itself; the first one enables
/// encryption.
pub(crate) async fn store_wrapped_umk(
    caller: Caller,
    api: Data<Api>,
    PathDevice(id): PathDevice,
    Body(request): Body<WrappedUmkRequest>,
) -> Result<Json<Done>, HttpError> {
    let (form, proof) = request.split()?;
    api.run(|api| async move {
        let owner = api.owner(caller.0, proof).await?;
        api.e2ee.devices.store_key(owner, &id, form).await.map_err(HttpError::from)
    })
    .await?;
    Ok(Json(Done::success()))
}

/// Key that a device wrapped for itself.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WrappedUmkRequest {
    /// The device in the path, if anything.
    device_id: Option<String>,
    /// Wrapped key: 60 bytes in base64.
    #[schema(value_type = String)]
    ciphertext: Option<String>,
    /// 32 bytes in base64.
    #[schema(value_type = String)]
    hkdf_salt: Option<String>,
    /// 1, which is meant where there is none.
    wrap_version: Option<i64>,
    /// Needed by the first device after a reset, unless its user has just
    /// signed in.
    #[serde(flatten)]
    proof: FreshProofRequest,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WrappedUmkResponse {
    device_id: String,
    ciphertext: String,
    hkdf_salt: String,
    wrap_version: i32,
    created_by_device_id: String,
    /// Signature of the device that wrapped the key, if that is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    approver_signature: Option<String>,
    signature_version: i16,
    #[serde(skip_serializing_if = "Option::is_none")]
    onboarding_session_id: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

fn to_response(device: &DeviceId, key: WrappedKey) -> WrappedUmkResponse {
    let signature_version = key.approved.as_ref().map_or(1, |it| it.version);
    let (approver_signature, onboarding_session_id) =
        key.approved.map(|it| (it.signature, it.onboarding)).unzip();

    WrappedUmkResponse {
        device_id: device.as_str().to_owned(),
        ciphertext: key.ciphertext,
        hkdf_salt: key.salt,
        wrap_version: WRAP_VERSION,
        created_by_device_id: key.created_by.as_str().to_owned(),
        approver_signature,
        signature_version,
        onboarding_session_id,
        created_at: key.created_at,
    }
}

impl WrappedUmkRequest {
    fn split(self) -> Result<(KeyForm, Option<ReauthProof>), ApiError> {
        let Self { device_id, ciphertext, hkdf_salt, wrap_version, proof } = self;
        Ok((KeyForm { device_id, ciphertext, hkdf_salt, wrap_version }, proof.proof_if_any()?))
    }
}
