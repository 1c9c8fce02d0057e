//! `GET /api/ai/status`: what the proxy can do.

use actix_web::web::{Data, Json};
use pia_assistant::Mode;
use pia_web::Caller;
use serde::Serialize;
use utoipa::ToSchema;

use crate::AiApi;

#[derive(Serialize, ToSchema)]
pub(crate) struct StatusResponse {
    /// Whether an upstream model is configured.
    available: bool,
    /// The modes that one serves: `Optimize`, `Assistant`, `Research`.
    modes: Vec<&'static str>,
}

/// Asks no upstream: a client that asks often would be paid for there.
pub(crate) async fn status(_: Caller, api: Data<AiApi>) -> Json<StatusResponse> {
    let status = api.gateway.status();
    let modes = status.modes.into_iter().map(Mode::name).collect();
    Json(StatusResponse { available: status.available, modes })
}
