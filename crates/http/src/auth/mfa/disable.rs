//! `POST /auth/mfa/disable`: removal of the second factor.

use actix_web::web::{Data, Json};
use pia_web::{ApiError, Body, Caller};

use crate::Api;
use crate::auth::Done;
use crate::auth::mfa::FreshProofRequest;

pub(crate) async fn disable(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<FreshProofRequest>,
) -> Result<Json<Done>, ApiError> {
    let factors = api.identity.second_factors.clone();
    let session_ref = caller.session_ref()?;
    let proof = request.proof()?;
    let disable = async move { factors.disable(session_ref, proof).await };
    api.runner.run(disable).await?;
    Ok(Json(Done::success()))
}
