//! `GET /api/ai/status`: availability of the proxy.

use actix_web::web::{Data, Json};
use pia_assistant::Mode;
use pia_web::{Caller, Gates, Licensing};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{AiApi, HttpError};

/// Returns the status without calling an upstream, which would charge for
/// frequent requests.
pub(crate) async fn status(
    caller: Caller,
    api: Data<AiApi>,
    gates: Data<Gates>,
) -> Result<Json<StatusResponse>, HttpError> {
    let status = api.gateway.status(caller.0.group).await?;
    let modes = status.modes.into_iter().map(Mode::name).collect();
    // Calls wait for a licence in force.
    let available = status.available && gates.check_licence(Licensing::InForce).is_ok();
    Ok(Json(StatusResponse { available, modes }))
}

#[derive(Serialize, ToSchema)]
pub(crate) struct StatusResponse {
    /// True if a model is available to the caller's group, and the licence is in
    /// force.
    available: bool,
    /// Modes with a model, also after the licence has expired: `Optimize`, `Assistant`, `Research`.
    modes: Vec<&'static str>,
}
