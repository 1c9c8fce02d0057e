//! `POST /auth/mfa/disable`: removal of the second factor.

use actix_web::web::{Data, Json};
use pia_web::{ApiError, Body, Caller};

use crate::Api;
use crate::auth::Done;
use crate::auth::mfa::FreshProofRequest;

/// Disables the second factor, and ends all other sessions.
pub(crate) async fn disable(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<FreshProofRequest>,
) -> Result<Json<Done>, ApiError> {
    let session_ref = caller.session_ref()?;
    let proof = request.proof()?;
    api.run(|api| async move { api.identity.second_factors.disable(session_ref, proof).await })
        .await?;
    Ok(Json(Done::success()))
}
