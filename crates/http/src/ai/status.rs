//! `GET /api/ai/status`: availability of the proxy.

use actix_web::web::{Data, Json};
use pia_assistant::Mode;
use pia_web::Caller;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{AiApi, HttpError};

/// Returns the status without calling an upstream, which would charge for
/// frequent requests.
pub(crate) async fn status(
    caller: Caller,
    api: Data<AiApi>,
) -> Result<Json<StatusResponse>, HttpError> {
    let status = api.gateway.status(caller.0.group).await?;
    let modes = status.modes.into_iter().map(Mode::name).collect();
    Ok(Json(StatusResponse { available: status.available, modes }))
}

#[derive(Serialize, ToSchema)]
pub(crate) struct StatusResponse {
    /// True if a model is available to the caller's group.
    available: bool,
    /// Modes with a model: `Optimize`, `Assistant`, `Research`.
    modes: Vec<&'static str>,
}
