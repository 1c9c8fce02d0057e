//! `/api/admin/settings`.

use actix_web::web::{Data, Json, Path};
use pia_kernel::Timestamp;
use pia_policy::{
    ListedSetting, OverrideValue, RunningSetting, SettingOverride, SettingOverrideError,
};
use pia_web::{ApiError, Body, Caller, FieldError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::auth::Done;
use crate::{Api, HttpError};

/// Maximum length of a value in bytes.
const MAX_VALUE_BYTES: usize = 16 * 1024;

/// Setting in force.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SettingResponse {
    /// Key: `Section:Key`.
    key: String,
    /// Value in force, or stored if it is unused; absent if there is none, and of a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    /// True if the value is shown to nobody.
    is_secret: bool,
    /// True if it is not changed here, as a change needs a restart.
    needs_restart: bool,
    /// Source of the value: `the console`, `appsettings.json` …; absent if the
    /// default is in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// Time of the change in the console, if there is one.
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_at: Option<Timestamp>,
    /// Id of the administrator who changed it in the console, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_by: Option<String>,
    /// True if this version does not have the setting, so that its change has no
    /// effect; absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(value_type = Option<bool>)]
    is_unused: bool,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct SettingRequest {
    /// Value as a text, as in `appsettings.json`: `true`, `30s`, `a,b`.
    #[schema(value_type = String)]
    value: Option<String>,
}

/// Lists the settings in force, and after them the changes of settings that this
/// version does not have.
pub(crate) async fn list(api: Data<Api>) -> Result<Json<Vec<SettingResponse>>, HttpError> {
    let (list, unused) = api
        .run(|api| async move {
            let unused = api.settings.unused().await?;
            Ok::<_, SettingOverrideError>((api.settings.list().await?, unused))
        })
        .await?;
    let unused = unused.into_iter().map(SettingResponse::unused);
    Ok(Json(list.into_iter().map(SettingResponse::from).chain(unused).collect()))
}

/// Changes a setting on all instances.
pub(crate) async fn change(
    caller: Caller,
    api: Data<Api>,
    key: Path<String>,
    Body(request): Body<SettingRequest>,
) -> Result<Json<Done>, HttpError> {
    let by = caller.0.user;
    let value = request.value.filter(|it| it.len() <= MAX_VALUE_BYTES).ok_or_else(invalid)?;
    api.run(|api| async move { api.settings.set(by, &[(key.as_str(), value)]).await }).await?;
    Ok(Json(Done::success()))
}

/// Reverts the change of a setting.
pub(crate) async fn reset(
    caller: Caller,
    api: Data<Api>,
    key: Path<String>,
) -> Result<Json<Done>, HttpError> {
    let by = caller.0.user;
    api.run(|api| async move { api.settings.reset(by, &key).await }).await?;
    Ok(Json(Done::success()))
}

fn invalid() -> ApiError {
    let message = format!("Enter a text of at most {MAX_VALUE_BYTES} bytes.");
    ApiError::invalid(vec![FieldError { field: "value".to_owned(), code: "invalid", message }])
}

impl From<ListedSetting> for SettingResponse {
    fn from(ListedSetting { setting, change }: ListedSetting) -> Self {
        let RunningSetting { key, value, is_secret, origin, needs_restart, .. } = setting;
        let changed_by = change.as_ref().and_then(|it| it.updated_by);
        Self {
            key,
            value,
            is_secret,
            needs_restart,
            source: origin,
            changed_at: change.map(|it| it.updated_at),
            changed_by: changed_by.map(|it| it.to_string()),
            is_unused: false,
        }
    }
}

impl SettingResponse {
    fn unused(change: SettingOverride) -> Self {
        let SettingOverride { key, value, updated_at, updated_by } = change;
        let text = match value {
            OverrideValue::Plain(text) => Some(text),
            OverrideValue::Secret(_) | OverrideValue::Unreadable => None,
        };
        Self {
            key,
            is_secret: text.is_none(),
            value: text,
            needs_restart: false,
            source: None,
            changed_at: Some(updated_at),
            changed_by: updated_by.map(|it| it.to_string()),
            is_unused: true,
        }
    }
}
