//! `/api/admin/groups/{id}/credits`.

use actix_web::web::{Data, Json};
use pia_kernel::GroupId;
use pia_web::{Body, Caller, PathId};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::ai::GroupCreditsResponse;
use crate::auth::Done;
use crate::{Api, HttpError};

/// Returns the budgets that a group shares, and their use.
pub(crate) async fn show(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<GroupCreditsResponse>, HttpError> {
    let user = caller.0.user;
    let credits = api
        .run(|api| async move {
            api.groups.find(GroupId(id)).await?;
            Ok::<_, HttpError>(api.credits.view(user, GroupId(id), None).await?)
        })
        .await?;
    Ok(Json(credits.into()))
}

/// Adds credits that do not expire to a group.
pub(crate) async fn top_up(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    Body(request): Body<TopUpRequest>,
) -> Result<Json<Done>, HttpError> {
    let by = caller.0.user;
    let added = request.credits.unwrap_or_default();
    api.run(|api| async move { api.credits.top_up(by, GroupId(id), added, None).await }).await?;
    Ok(Json(Done::success()))
}

#[derive(Deserialize, ToSchema)]
pub(crate) struct TopUpRequest {
    /// Whole credits, 1 to 1,000,000,000.
    #[schema(value_type = i64)]
    credits: Option<i64>,
}
