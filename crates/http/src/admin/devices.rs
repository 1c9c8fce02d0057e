//! `/api/admin/devices`: devices of end-to-end encrypted accounts.

use actix_web::web::{Data, Json, Query};
use pia_e2ee::{DeviceEntry, DeviceFilter, DeviceStatus};
use pia_kernel::{Timestamp, UserId};
use pia_web::{ApiError, FieldError, Paging};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::time_order::parse_order;
use crate::{Api, HttpError};

/// Lists the devices of end-to-end encrypted accounts, newest registration first.
pub(crate) async fn list(
    api: Data<Api>,
    Query(query): Query<DeviceQuery>,
    Paging(page): Paging,
) -> Result<Json<DevicePage>, HttpError> {
    let filter = DeviceFilter {
        user: query.user.map(UserId),
        search: query.search.unwrap_or_default(),
        status: query.status.as_deref().map(parse_status).transpose()?,
        order: parse_order(query.sort.as_deref())?,
    };
    let page = api.run(|api| async move { api.e2ee.directory.list(&filter, page).await }).await?;
    Ok(Json(DevicePage {
        items: page.items.into_iter().map(Into::into).collect(),
        next_cursor: page.next.map(Paging::format_cursor),
    }))
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct DeviceQuery {
    /// Devices of this user.
    user: Option<Uuid>,
    /// Part of the device's name or of its user's email address, in any case.
    search: Option<String>,
    /// `waiting`, `expired`, `active` or `revoked`.
    status: Option<String>,
    /// `created` for the oldest entry first; `-created`, the default, for the newest.
    sort: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DevicePage {
    /// Newest registration first, unless the oldest is requested first.
    items: Vec<DeviceItem>,
    /// Cursor of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Device that holds or requests the key of its account, without its keys.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct DeviceItem {
    id: String,
    user_id: String,
    /// Email address of the user.
    email: String,
    name: String,
    /// `waiting` for approval, `expired` if its request is, `active` or
    /// `revoked`.
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    os_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    app_version: Option<String>,
    /// Time of its first registration.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Time of its last operation on keys.
    #[schema(value_type = String, format = DateTime)]
    last_seen_at: Timestamp,
}

fn parse_status(name: &str) -> Result<DeviceStatus, ApiError> {
    DeviceStatus::ALL.into_iter().find(|it| it.name() == name).ok_or_else(|| {
        let names = DeviceStatus::ALL.map(DeviceStatus::name).join(", ");
        let field = "status".to_owned();
        let message = format!("Choose one of {names}.");
        ApiError::invalid(vec![FieldError { field, code: "unknown", message }])
    })
}

impl From<DeviceEntry> for DeviceItem {
    fn from(device: DeviceEntry) -> Self {
        Self {
            id: device.row.0.to_string(),
            user_id: device.user.to_string(),
            email: device.email,
            name: device.name,
            status: device.status.name(),
            os_version: device.os_version,
            app_version: device.app_version,
            created_at: device.created_at,
            last_seen_at: device.seen_at,
        }
    }
}
