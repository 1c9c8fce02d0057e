//! `/api/capabilities`: optional features of the server.

use actix_web::web::{Data, Json};
use pia_policy::Feature;
use pia_web::Gates;
use serde::Serialize;
use utoipa::ToSchema;

/// Version of stored chats.
const CHATS_SCHEMA_VERSION: i32 = 1;
const CHATS: &str = "/api/v1/chats";

/// Returns the capabilities of the server.
pub(crate) async fn capabilities(gates: Data<Gates>) -> Json<CapabilitiesResponse> {
    let has_route = gates.table.iter().any(|it| it.path == CHATS);
    let is_licensed = gates.licence.get().includes(Feature::Sync, gates.clock.now());
    Json(CapabilitiesResponse {
        chats: has_route && is_licensed,
        chats_schema_version: CHATS_SCHEMA_VERSION,
    })
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CapabilitiesResponse {
    /// True if the server can store chats.
    chats: bool,
    chats_schema_version: i32,
}
