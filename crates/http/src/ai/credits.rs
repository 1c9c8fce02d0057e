//! `GET /api/ai/credits`: budgets of the caller.

use actix_web::web::{Data, Json};
use pia_assistant::{CreditStock, CreditView, Gauge, PoolStock, WeekGauge};
use pia_kernel::Timestamp;
use pia_web::Caller;
use serde::Serialize;
use utoipa::ToSchema;

use super::ai_caller::api_key_budget;
use crate::{Api, HttpError};

/// Returns the caller's budgets and usage, in whole credits.
pub(crate) async fn credits(
    caller: Caller,
    api: Data<Api>,
) -> Result<Json<CreditsResponse>, HttpError> {
    let member = caller.0.user;
    let group = caller.0.group;
    let key = api_key_budget(caller.0.scope);
    Ok(Json(api.run(|api| async move { api.credits.view(member, group, key).await }).await?.into()))
}

/// Budgets and usage in whole credits. A limit that does not apply is absent.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreditsResponse {
    /// True if the caller's group has any limit.
    limited: bool,
    /// True while the free tier is suspended for the caller's group.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(value_type = Option<bool>)]
    suspended: bool,
    /// The caller's of any hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    hourly: Option<WindowItem>,
    /// The caller's of any 24 hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    daily: Option<WindowItem>,
    /// The caller's own of this week, without what was drawn from elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    weekly: Option<WeekItem>,
    /// Pool of what the group's members left of last week's allowances, shared
    /// by all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pool: Option<PoolItem>,
    /// Credits that the group bought; drawn when allowance and pool are used
    /// up.
    #[serde(skip_serializing_if = "Option::is_none")]
    top_up: Option<TopUpItem>,
    /// Limits of the whole group.
    #[serde(skip_serializing_if = "Option::is_none")]
    group_cap: Option<GroupCapItem>,
    /// This week's budget of the API key that is used, where it has one of its
    /// own.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<WeekItem>,
}

#[derive(Serialize, ToSchema)]
struct WindowItem {
    limit: i64,
    used: i64,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct WeekItem {
    limit: i64,
    used: i64,
    #[schema(value_type = String, format = DateTime)]
    resets_at: Timestamp,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PoolItem {
    total: i64,
    used: i64,
    remaining: i64,
    #[schema(value_type = String, format = DateTime)]
    resets_at: Timestamp,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TopUpItem {
    granted: i64,
    consumed: i64,
    remaining: i64,
    /// True if credits are left.
    is_active: bool,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct GroupCapItem {
    #[serde(skip_serializing_if = "Option::is_none")]
    daily: Option<WindowItem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weekly: Option<WeekItem>,
}

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

impl From<CreditView> for GroupCreditsResponse {
    fn from(view: CreditView) -> Self {
        let capped = view.group_daily.is_some() || view.group_weekly.is_some();
        let group_cap = capped.then(|| GroupCapItem {
            daily: view.group_daily.map(Into::into),
            weekly: view.group_weekly.map(Into::into),
        });

        let pool = view.pool.map(|PoolStock { stock, resets_at }| {
            let CreditStock { total, used, remaining } = stock;
            PoolItem { total, used, remaining, resets_at }
        });

        let top_up = view.top_up.map(|CreditStock { total, used, remaining }| TopUpItem {
            granted: total,
            consumed: used,
            remaining,
            is_active: remaining > 0,
        });

        Self { pool, top_up, group_cap }
    }
}

impl From<CreditView> for CreditsResponse {
    fn from(view: CreditView) -> Self {
        let key = view.key.map(Into::into);
        let hourly = view.hourly.map(Into::into);
        let daily = view.daily.map(Into::into);
        let limited = view.limited;
        let suspended = view.suspended;
        let weekly = view.weekly.map(Into::into);
        let GroupCreditsResponse { pool, top_up, group_cap } = view.into();
        Self { limited, suspended, hourly, daily, weekly, pool, top_up, group_cap, key }
    }
}

impl From<Gauge> for WindowItem {
    fn from(Gauge { limit, used }: Gauge) -> Self {
        Self { limit, used }
    }
}

impl From<WeekGauge> for WeekItem {
    fn from(week: WeekGauge) -> Self {
        let Gauge { limit, used } = week.gauge;
        Self { limit, used, resets_at: week.resets_at }
    }
}
