//! `/api/e2ee`: whether an account is end-to-end encrypted.

use actix_web::web::Json;
use pia_web::Caller;
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct E2eeStatusResponse {
    is_enabled: bool,
    umk_version: i32,
    has_recovery_key: bool,
    has_recovery_proof_key: bool,
}

/// No account is: there is no route by which one could become so. Clients ask
/// all the same, and take no answer for one that may change.
pub(crate) async fn status(_: Caller) -> Json<E2eeStatusResponse> {
    Json(E2eeStatusResponse {
        is_enabled: false,
        umk_version: 0,
        has_recovery_key: false,
        has_recovery_proof_key: false,
    })
}
