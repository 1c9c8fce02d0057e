//! `/api/admin/groups`.

use std::collections::BTreeMap;

use actix_web::HttpResponse;
use actix_web::web::{Data, Json};
use pia_kernel::{BudgetPeriod, GroupId, Timestamp, UserId};
use pia_policy::{GroupEntry, GroupSettings, Quota, SettingChange};
use pia_web::{ApiError, Body, Caller, FieldError, PathId, null_as_default};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::auth::Done;
use crate::{Api, HttpError};

/// Lists the groups: the default one, then by name.
pub(crate) async fn list(api: Data<Api>) -> Result<Json<Vec<GroupResponse>>, HttpError> {
    let entries = api.run(|api| async move { api.groups.list().await }).await?;
    Ok(Json(entries.into_iter().map(Into::into).collect()))
}

/// Returns a group.
pub(crate) async fn show(
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<GroupResponse>, HttpError> {
    let entry = api.run(|api| async move { api.groups.find(GroupId(id)).await }).await?;
    Ok(Json(entry.into()))
}

/// Creates a group.
pub(crate) async fn create(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<GroupRequest>,
) -> Result<HttpResponse, HttpError> {
    let by = Some(caller.0.user);
    let name = request.name.unwrap_or_default();
    let group = api.run(|api| async move { api.groups.create(by, &name).await }).await?;
    Ok(HttpResponse::Created().json(GroupCreated { id: group.id.to_string() }))
}

/// Renames a group.
pub(crate) async fn rename(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    Body(request): Body<GroupRequest>,
) -> Result<Json<Done>, HttpError> {
    let by = Some(caller.0.user);
    let name = request.name.unwrap_or_default();
    api.run(|api| async move { api.groups.rename(by, GroupId(id), &name).await }).await?;
    Ok(Json(Done::success()))
}

/// Deletes a group that is not in use.
pub(crate) async fn delete(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Done>, HttpError> {
    let by = Some(caller.0.user);
    api.run(|api| async move { api.groups.delete(by, GroupId(id)).await }).await?;
    Ok(Json(Done::success()))
}

/// Returns the settings of a group.
pub(crate) async fn show_settings(
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<GroupSettingsResponse>, HttpError> {
    let settings = api.run(|api| async move { api.groups.settings(GroupId(id)).await }).await?;
    Ok(Json(settings.into()))
}

/// Changes settings of a group; an omitted one stays unchanged, null restores the
/// default.
pub(crate) async fn change_settings(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    Body(request): Body<GroupSettingsRequest>,
) -> Result<Json<GroupSettingsResponse>, HttpError> {
    let by = Some(caller.0.user);
    let changes = request.changes()?;
    let settings = api
        .run(|api| async move { api.groups.change_settings(by, GroupId(id), &changes).await })
        .await?;
    Ok(Json(settings.into()))
}

/// Moves a user to another group.
pub(crate) async fn move_user(
    caller: Caller,
    api: Data<Api>,
    PathId(user): PathId,
    Body(request): Body<MoveUserRequest>,
) -> Result<Json<Done>, HttpError> {
    let by = Some(caller.0.user);
    let group = request.group_id.ok_or_else(|| {
        invalid("groupId".to_owned(), "required", "groupId is required.".to_owned())
    })?;
    api.run(|api| async move { api.groups.move_member(by, UserId(user), GroupId(group)).await })
        .await?;
    Ok(Json(Done::success()))
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct GroupRequest {
    /// Unique without regard to case.
    #[schema(value_type = String)]
    name: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct GroupCreated {
    id: String,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GroupResponse {
    id: String,
    name: String,
    /// True for the group of new accounts.
    is_default: bool,
    /// Number of members.
    member_count: u64,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

/// Settings of a group's members.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GroupSettingsResponse {
    /// Quotas that the group sets itself, by name.
    quotas: BTreeMap<&'static str, i64>,
    /// Budgets in whole credits by period; 0 is no limit.
    credits: BTreeMap<&'static str, i64>,
    /// True if unused allowances of a week are shared in the next.
    pool: bool,
    /// Catalogue entries by mode.
    modes: BTreeMap<String, String>,
    /// Catalogue entries by type of persona.
    persona_types: BTreeMap<String, String>,
    /// Catalogue entries that a request may name.
    models: Vec<String>,
}

/// Changes of a group's settings: what is omitted stays, null restores the
/// default.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct GroupSettingsRequest {
    /// Limits by quota: `KnowledgeBases`, `ManagedPersonas` …
    #[serde(deserialize_with = "null_as_default")]
    quotas: BTreeMap<String, Option<i64>>,
    /// Budgets by period: `hourly`, `daily`, `weekly`, `group-daily`,
    /// `group-weekly`.
    #[serde(deserialize_with = "null_as_default")]
    credits: BTreeMap<String, Option<i64>>,
    pool: Option<bool>,
    /// Catalogue entries by mode: `Optimize`, `Assistant`, `Research`.
    #[serde(deserialize_with = "null_as_default")]
    modes: BTreeMap<String, Option<String>>,
    #[serde(deserialize_with = "null_as_default")]
    persona_types: BTreeMap<String, Option<String>>,
    models: Option<Vec<String>>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MoveUserRequest {
    #[schema(value_type = Uuid)]
    group_id: Option<Uuid>,
}

fn invalid(field: String, code: &'static str, message: String) -> ApiError {
    ApiError::invalid(vec![FieldError { field, code, message }])
}

impl GroupSettingsRequest {
    fn changes(self) -> Result<Vec<SettingChange>, ApiError> {
        let mut changes = Vec::new();
        for (name, limit) in self.quotas {
            let quota = Quota::from_name(&name)
                .ok_or_else(|| unknown("quotas", &Quota::ALL.map(Quota::name)))?;
            changes.push(SettingChange::Quota(quota, limit));
        }

        for (name, limit) in self.credits {
            let period = BudgetPeriod::from_name(&name)
                .ok_or_else(|| unknown("credits", &BudgetPeriod::ALL.map(BudgetPeriod::name)))?;
            changes.push(SettingChange::Credits(period, limit));
        }

        changes.extend(self.pool.map(SettingChange::Pool));
        changes.extend(self.modes.into_iter().map(|(mode, it)| SettingChange::Mode(mode, it)));
        let types = self.persona_types.into_iter();
        changes.extend(types.map(|(name, it)| SettingChange::PersonaType(name, it)));
        changes.extend(self.models.map(SettingChange::Models));

        Ok(changes)
    }
}

fn unknown(field: &str, names: &[&str]) -> ApiError {
    let message = format!("The names of {field} are {}.", names.join(", "));
    invalid(field.to_owned(), "unknown", message)
}

impl From<GroupEntry> for GroupResponse {
    fn from(GroupEntry { group, members }: GroupEntry) -> Self {
        Self {
            id: group.id.to_string(),
            name: group.name.as_str().to_owned(),
            is_default: group.is_default,
            member_count: members,
            created_at: group.created_at,
        }
    }
}

impl From<GroupSettings> for GroupSettingsResponse {
    fn from(settings: GroupSettings) -> Self {
        let GroupSettings { quotas, credits, modes, persona_types, models } = settings;
        let budgets = BudgetPeriod::ALL.into_iter();
        Self {
            quotas: quotas.into_iter().map(|(quota, limit)| (quota.name(), limit)).collect(),
            credits: budgets.map(|it| (it.name(), credits.of(it))).collect(),
            pool: credits.pool,
            modes,
            persona_types,
            models,
        }
    }
}
