//! `/api/capabilities`: what a client may count on.

use actix_web::web::{Data, Json};
use pia_policy::Feature;
use pia_web::Gates;
use serde::Serialize;
use utoipa::ToSchema;

/// The version of stored chats that this server speaks.
const CHATS_SCHEMA_VERSION: i32 = 1;
const CHATS: &str = "/api/v1/chats";

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CapabilitiesResponse {
    /// True if the server can store chats.
    chats: bool,
    chats_schema_version: i32,
}

pub(crate) async fn capabilities(gates: Data<Gates>) -> Json<CapabilitiesResponse> {
    let served = gates.table.iter().any(|it| it.path == CHATS);
    let licensed = gates.licence.get().includes(Feature::Sync, gates.clock.now());
    Json(CapabilitiesResponse {
        chats: served && licensed,
        chats_schema_version: CHATS_SCHEMA_VERSION,
    })
}
