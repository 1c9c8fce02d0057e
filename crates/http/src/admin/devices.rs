//! `/api/admin/devices`: devices of end-to-end encrypted accounts.

use actix_web::web::{Data, Json, Query};
use pia_e2ee::{DeviceColumn, DeviceEntry, DeviceFilter, DeviceOrder, DeviceStatus};
use pia_kernel::{Timestamp, UserId};
use pia_web::{ApiError, FieldError, SortedPaging};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{Api, HttpError};

/// Lists the devices of end-to-end encrypted accounts.
pub(crate) async fn list(
    api: Data<Api>,
    Query(query): Query<DeviceQuery>,
    page: SortedPaging,
) -> Result<Json<DevicePage>, HttpError> {
    let filter = DeviceFilter {
        user: query.user.map(UserId),
        search: query.search.unwrap_or_default(),
        status: query.status.as_deref().map(parse_status).transpose()?,
        order: query.sort.as_deref().map(parse_order).transpose()?.unwrap_or_default(),
    };
    let page = page.sorted_by(filter.order.column.is_text())?;
    let page = api.run(|api| async move { api.e2ee.directory.list(&filter, page).await }).await?;
    Ok(Json(DevicePage {
        items: page.items.into_iter().map(Into::into).collect(),
        next_cursor: page.next.as_ref().map(SortedPaging::format_cursor),
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
    /// `created`, `name` or `used`, the time of the last operation on keys, after `-` in
    /// descending order; `-created` by default.
    sort: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DevicePage {
    /// Devices in the requested order.
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
    DeviceStatus::ALL
        .into_iter()
        .find(|it| it.name() == name)
        .ok_or_else(|| unknown("status", &DeviceStatus::ALL.map(DeviceStatus::name).join(", ")))
}

/// Parses an order, as the console names it.
fn parse_order(name: &str) -> Result<DeviceOrder, ApiError> {
    DeviceOrder::from_name(name).ok_or_else(|| {
        let names = DeviceColumn::ALL.map(|it| format!("{0}, -{0}", it.name()));
        unknown("sort", &names.join(", "))
    })
}

fn unknown(field: &str, names: &str) -> ApiError {
    let message = format!("Choose one of {names}.");
    ApiError::invalid(vec![FieldError { field: field.to_owned(), code: "unknown", message }])
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
