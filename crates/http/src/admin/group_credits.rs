//! `/api/admin/groups/{id}/credits`.

use actix_web::web::{Data, Json};
use pia_kernel::GroupId;
use pia_web::{Body, Caller, PathId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ai::{GroupCapItem, PoolItem, SharedCredits, TopUpItem};
use crate::auth::Done;
use crate::{Api, HttpError};

/// Budgets that the members of a group share, in whole credits. One that does
/// not apply is absent.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GroupCreditsResponse {
    /// Pool of what the members left of last week's allowances.
    #[serde(skip_serializing_if = "Option::is_none")]
    pool: Option<PoolItem>,
    /// Credits that were added to the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    top_up: Option<TopUpItem>,
    /// Limits of the whole group.
    #[serde(skip_serializing_if = "Option::is_none")]
    group_cap: Option<GroupCapItem>,
}

#[derive(Deserialize, ToSchema)]
pub(crate) struct TopUpRequest {
    /// Whole credits, 1 to 1,000,000,000.
    #[schema(value_type = i64)]
    credits: Option<i64>,
}

pub(crate) async fn show(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<GroupCreditsResponse>, HttpError> {
    let groups = api.groups.clone();
    let credits = api.credits.clone();
    let user = caller.0.user;
    let view = async move {
        groups.find(GroupId(id)).await?;
        Ok::<_, HttpError>(credits.view(user, GroupId(id), None).await?)
    };
    let SharedCredits { pool, top_up, group_cap } = api.run(view).await?.into();
    Ok(Json(GroupCreditsResponse { pool, top_up, group_cap }))
}

pub(crate) async fn top_up(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    Body(request): Body<TopUpRequest>,
) -> Result<Json<Done>, HttpError> {
    let credits = api.credits.clone();
    let by = caller.0.user;
    let added = request.credits.unwrap_or_default();
    api.run(async move { credits.top_up(by, GroupId(id), added).await }).await?;
    Ok(Json(Done::success()))
}
