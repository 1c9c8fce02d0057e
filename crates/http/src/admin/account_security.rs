//! `/api/admin/users/{id}/…`: administration of what secures a user's account.

use actix_web::web::{Data, Json};
use pia_kernel::UserId;
use pia_web::{ApiError, Caller, OptionalBody, Paging, PathId};

use crate::auth::mfa::FreshProofRequest;
use crate::auth::{Done, SessionsResponse};
use crate::{Api, HttpError};

/// Lists the sessions of a user, the newest first.
pub(crate) async fn sessions(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    Paging(request): Paging,
) -> Result<Json<SessionsResponse>, HttpError> {
    let user = UserId(id);
    let (page, names) = api
        .run(|api| async move {
            api.groups.member(user).await?;
            let page = api.identity.sessions.page(user, request).await?;
            Ok::<_, HttpError>((page, api.e2ee.devices.names(user).await?))
        })
        .await?;
    let current = caller.session_ref()?.session;
    Ok(Json(SessionsResponse::new(page, current, &names)))
}

/// Ends all sessions of a user; app passwords and API keys stay valid.
pub(crate) async fn end_sessions(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Done>, ApiError> {
    let by = caller.0.user;
    api.run(|api| async move { api.administration.security.end_sessions(by, UserId(id)).await })
        .await?;
    Ok(Json(Done::success()))
}

/// Lifts the wait of a user after wrong passwords and codes.
pub(crate) async fn lift_wait(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Done>, ApiError> {
    let by = caller.0.user;
    api.run(|api| async move { api.administration.security.lift_wait(by, UserId(id)).await })
        .await?;
    Ok(Json(Done::success()))
}

/// Disables the second factor that a user has lost, and ends their sessions.
pub(crate) async fn reset_factor(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    OptionalBody(request): OptionalBody<FreshProofRequest>,
) -> Result<Json<Done>, ApiError> {
    let by = caller.0.user;
    api.require_owner(caller.0, request.proof_if_any()?).await?;
    api.run(|api| async move { api.administration.security.reset_factor(by, UserId(id)).await })
        .await?;
    Ok(Json(Done::success()))
}
