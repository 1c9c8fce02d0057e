//! `/api/admin/users/{id}/effective`: the effective settings of a user, with
//! their sources.

use std::collections::BTreeMap;

use actix_web::web::{Data, Json};
use pia_kernel::{BudgetPeriod, UserId};
use pia_policy::{AssignedPolicy, Group, GroupEntry, GroupMember, GroupSettings, Quota};
use pia_sync::{CatalogueSnapshot, ManagedPersona, PullError};
use pia_web::{ApiError, PathId};
use serde::Serialize;
use utoipa::ToSchema;

use super::client_policies::GroupClientPolicy;
use super::members::MemberItem;
use crate::{Api, HttpError};

/// Returns the policy, personas, plugins, models and limits of a user.
pub(crate) async fn effective(
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<EffectiveResponse>, HttpError> {
    Ok(Json(EffectiveSettings::load(&api, UserId(id)).await?.into()))
}

/// Contents of a user's next pull, and the limits that apply to them.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EffectiveResponse {
    user: MemberItem,
    group: EffectiveGroup,
    /// The group's policy.
    client_policy: GroupClientPolicy,
    /// The group's active personas.
    personas: Vec<EffectivePersona>,
    plugins: Vec<EffectivePlugin>,
    models: EffectiveModels,
    limits: Vec<EffectiveLimit>,
}

#[derive(Debug, Serialize, ToSchema)]
struct EffectiveGroup {
    id: String,
    name: String,
}

#[derive(Debug, Serialize, ToSchema)]
struct EffectivePersona {
    id: String,
    name: String,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct EffectivePlugin {
    id: String,
    name: String,
    is_active: bool,
    /// Choice of the user; absent if they have made none.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_enabled: Option<bool>,
    /// `group`, or `builtIn` for a plugin that everybody gets.
    source: &'static str,
}

/// Catalogue entries that the group's settings name. Where they name none, the
/// server's catalogue decides.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct EffectiveModels {
    /// Entries by mode.
    modes: BTreeMap<String, String>,
    /// Entries by type of persona.
    persona_types: BTreeMap<String, String>,
    /// Entries that a request may name.
    allowed: Vec<String>,
}

/// Limit of a user.
#[derive(Debug, Serialize, ToSchema)]
pub struct EffectiveLimit {
    /// Quota, or budget in whole credits: `Credits:daily`.
    pub name: String,
    /// Absent if there is no limit, or if the server's settings decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<i64>,
    /// `group`, `default`, `settings` or `none`.
    pub source: &'static str,
}

/// Effective settings of a user, and the objects that they come from.
#[derive(Debug)]
pub struct EffectiveSettings {
    /// User whose settings these are.
    pub member: GroupMember,
    /// Group that the user is in.
    pub group: Group,
    /// Client policy of the group.
    pub policy: AssignedPolicy,
    /// Personas and plugins of the user's next pull.
    pub published: CatalogueSnapshot,
    /// Permissions and limits of the group's members.
    pub settings: GroupSettings,
}

impl EffectiveSettings {
    /// Loads the effective settings of a user.
    pub async fn load(api: &Data<Api>, user: UserId) -> Result<Self, HttpError> {
        api.run(|api| async move {
            let member = api.groups.member(user).await?;
            let GroupEntry { group, .. } = api.groups.find(member.group).await?;
            let settings = api.groups.settings(member.group).await?;
            let policy = api.client_policies.of_group(member.group).await?;
            let published = match api.sync.pulling.published(user).await {
                Err(PullError::Gone) => return Err(ApiError::not_found().into()),
                published => published?,
            };
            Ok::<_, HttpError>(Self { member, group, policy, published, settings })
        })
        .await
    }

    /// Returns the limits of the user, with the source of each.
    pub fn limits(&self) -> Vec<EffectiveLimit> {
        limits_of(&self.settings)
    }
}

impl From<EffectiveSettings> for EffectiveResponse {
    fn from(effective: EffectiveSettings) -> Self {
        let EffectiveSettings { member, group, policy, published, settings } = effective;
        let limits = limits_of(&settings);
        let GroupSettings { modes, persona_types, models, .. } = settings;
        let CatalogueSnapshot { catalogue, plugin_preferences: preferences } = published;
        let persona =
            |it: ManagedPersona| EffectivePersona { id: it.id.to_string(), name: it.name };

        let plugins = catalogue.plugins.into_iter().map(|it| EffectivePlugin {
            id: it.id.to_string(),
            name: it.name,
            is_active: it.is_active,
            user_enabled: preferences.get(&it.id).copied(),
            source: if it.is_preloaded { "builtIn" } else { "group" },
        });

        Self {
            user: member.into(),
            group: EffectiveGroup {
                id: group.id.to_string(),
                name: group.name.as_str().to_owned(),
            },
            client_policy: policy.into(),
            personas: catalogue.personas.into_iter().map(persona).collect(),
            plugins: plugins.collect(),
            models: EffectiveModels { modes, persona_types, allowed: models },
            limits,
        }
    }
}

/// Returns the limits of a group's members, with the source of each.
fn limits_of(settings: &GroupSettings) -> Vec<EffectiveLimit> {
    let quotas = Quota::ALL.into_iter().map(|quota| {
        let value = settings.quota(quota);
        let source = match value {
            _ if settings.quotas.contains_key(&quota) => "group",
            Some(_) => "default",
            None => "settings",
        };
        EffectiveLimit { name: quota.name().to_owned(), value, source }
    });

    let budgets = BudgetPeriod::ALL.into_iter().map(|period| {
        let value = Some(settings.credits.of(period)).filter(|it| *it > 0);
        let source = if value.is_some() { "group" } else { "none" };
        EffectiveLimit { name: format!("Credits:{}", period.name()), value, source }
    });

    quotas.chain(budgets).collect()
}
