//! `/api/e2ee/status`: encryption status of an account.

use actix_web::web::{Data, Json};
use pia_e2ee::KeyState;
use pia_web::Caller;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{Api, HttpError};

/// Returns the status whatever the licence includes: clients request it in any
/// case, and do not expect the result to depend on the licence.
pub(crate) async fn status(
    caller: Caller,
    api: Data<Api>,
) -> Result<Json<E2eeStatusResponse>, HttpError> {
    let user = caller.0.user;
    Ok(Json(api.run(|api| async move { api.e2ee.devices.state(user).await }).await?.into()))
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct E2eeStatusResponse {
    /// True once end-to-end encryption has been enabled; it can't be disabled.
    is_enabled: bool,
    /// Version of the account's key in use; 0 before the first.
    umk_version: i32,
    has_recovery_key: bool,
    has_recovery_proof_key: bool,
}

impl From<KeyState> for E2eeStatusResponse {
    fn from(state: KeyState) -> Self {
        let KeyState { encrypted, umk_version, recovery, proof_key } = state;
        Self {
            is_enabled: encrypted,
            umk_version,
            has_recovery_key: recovery,
            has_recovery_proof_key: proof_key,
        }
    }
}
