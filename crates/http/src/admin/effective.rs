//! `/api/admin/users/{id}/effective`: the effective settings of a user, with
//! their sources.

use std::collections::BTreeMap;

use actix_web::web::{Data, Json};
use pia_assistant::{CreditView, Mode, Models};
use pia_kernel::{
    BudgetPeriod, ConnectorId, GroupId, KnowledgeBaseId, OperatorId, StorageUse, UserId,
};
use pia_knowledge::BaseAccess;
use pia_policy::{AssignedPolicy, Group, GroupMember, GroupSettings, Quota};
use pia_sync::{CatalogueSnapshot, ManagedPersona, PullError};
use pia_web::{ApiError, PathId};
use serde::Serialize;
use utoipa::ToSchema;

use super::client_policies::GroupClientPolicy;
use super::members::MemberItem;
use crate::ai::CreditsResponse;
use crate::{Api, HttpError};

/// Returns the policy, contents, models, limits and budgets of a user.
pub(crate) async fn effective(
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<EffectiveResponse>, HttpError> {
    Ok(Json(EffectiveSettings::load(&api, UserId(id)).await?.into()))
}

/// Contents of a user's next pull, and the limits that apply to them.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EffectiveResponse {
    user: MemberItem,
    group: EffectiveGroup,
    /// The group's policy.
    client_policy: GroupClientPolicy,
    /// The group's active personas.
    personas: Vec<EffectiveContent>,
    plugins: Vec<EffectivePlugin>,
    /// Bases that the group owns or that are shared with it; none while knowledge is off.
    knowledge_bases: Vec<EffectiveContent>,
    /// Active operators of the group; none while assignments are off.
    operators: Vec<EffectiveContent>,
    /// Connectors whose tools the group may use.
    connectors: Vec<EffectiveContent>,
    models: EffectiveModels,
    limits: Vec<EffectiveLimit>,
    /// Budgets of the user, and what they have used.
    credits: CreditsResponse,
}

#[derive(Debug, Serialize, ToSchema)]
struct EffectiveGroup {
    id: String,
    name: String,
}

/// Persona, knowledge base, operator or connector.
#[derive(Debug, Serialize, ToSchema)]
struct EffectiveContent {
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

/// Catalogue entries that the group's settings name, and those that serve the modes.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct EffectiveModels {
    /// Entries by mode.
    modes: BTreeMap<String, String>,
    /// Entries by type of persona.
    persona_types: BTreeMap<String, String>,
    /// Entries that a request may name; if there are none, users cannot choose.
    allowed: Vec<String>,
    /// Entries that serve the modes where a request names none, those of the server included.
    serving: Vec<ServingModel>,
}

/// Model that serves a mode for a user.
#[derive(Debug, Serialize, ToSchema)]
pub struct ServingModel {
    /// Mode: `Optimize`, `Assistant` or `Research`.
    pub mode: &'static str,
    /// Key of its settings: `Ai`, `Ai:Modes:Research`, or `Ai:Providers:` with the id of the
    /// entry.
    pub key: String,
    /// Name for people.
    pub name: String,
    /// Name at the provider.
    pub model: String,
    /// `group` or `settings`.
    pub source: &'static str,
}

/// Limit of a user.
#[derive(Debug, Serialize, ToSchema)]
pub struct EffectiveLimit {
    /// Quota, or budget in whole credits: `Credits:daily`.
    pub name: String,
    /// Absent if there is no limit.
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
    /// Models that serve the modes.
    pub models: Vec<ServingModel>,
    /// Knowledge bases that their chats can search.
    pub knowledge_bases: Vec<(KnowledgeBaseId, String)>,
    /// Operators that they may hand assignments to.
    pub operators: Vec<(OperatorId, String)>,
    /// Connectors whose tools their chats may use.
    pub connectors: Vec<(ConnectorId, String)>,
    /// Stored bytes, and their limit.
    pub storage: StorageUse,
    /// Budgets, and what they have used.
    pub credits: CreditView,
}

impl EffectiveSettings {
    /// Loads the effective settings of a user.
    pub async fn load(api: &Data<Api>, user: UserId) -> Result<Self, HttpError> {
        api.run(|api| async move {
            let member = api.groups.member(user).await?;
            let group = member.group;
            let settings = api.groups.settings(group).await?;
            let published = match api.sync.pulling.published(user).await {
                Err(PullError::Gone) => return Err(ApiError::not_found().into()),
                published => published?,
            };
            Ok::<_, HttpError>(Self {
                member,
                group: api.groups.find(group).await?.group,
                policy: api.client_policies.of_group(group).await?,
                published,
                models: find_serving_models(&api.models, &settings),
                settings,
                knowledge_bases: load_bases(&api, group).await?,
                operators: load_operators(&api, user).await?,
                connectors: load_connectors(&api, group).await?,
                storage: api.sync.support.storage(user).await?,
                credits: api.credits.view(user, group, None).await?,
            })
        })
        .await
    }

    /// Returns the limits of the user, with the source of each.
    pub fn limits(&self) -> Vec<EffectiveLimit> {
        limits_of(&self.settings, self.storage)
    }
}

impl From<EffectiveSettings> for EffectiveResponse {
    fn from(effective: EffectiveSettings) -> Self {
        let limits = effective.limits();
        let EffectiveSettings { member, group, policy, published, settings, .. } = effective;
        let GroupSettings { modes, persona_types, models, .. } = settings;
        let CatalogueSnapshot { catalogue, plugin_preferences: preferences } = published;
        let persona =
            |it: ManagedPersona| EffectiveContent { id: it.id.to_string(), name: it.name };

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
            knowledge_bases: contents(effective.knowledge_bases),
            operators: contents(effective.operators),
            connectors: contents(effective.connectors),
            models: EffectiveModels {
                modes,
                persona_types,
                allowed: models,
                serving: effective.models,
            },
            limits,
            credits: effective.credits.into(),
        }
    }
}

fn contents<T: ToString>(named: Vec<(T, String)>) -> Vec<EffectiveContent> {
    named.into_iter().map(|(id, name)| EffectiveContent { id: id.to_string(), name }).collect()
}

/// Returns the models that serve the modes for a group.
fn find_serving_models(models: &Models, settings: &GroupSettings) -> Vec<ServingModel> {
    let serving = |mode: Mode| {
        let id_of_group = settings.modes.get(mode.name()).map(String::as_str);
        let entry = models.serving(mode, id_of_group)?;
        let id = entry.model.id();
        let is_of_group = id.zip(id_of_group).is_some_and(|(id, own)| id.eq_ignore_ascii_case(own));
        Some(ServingModel {
            mode: mode.name(),
            name: entry.name().to_owned(),
            model: entry.model.upstream_name().to_owned(),
            source: if is_of_group { "group" } else { "settings" },
            key: entry.key,
        })
    };
    Mode::ALL.into_iter().filter_map(serving).collect()
}

/// Returns the bases that a group owns or that are shared with it; none while knowledge is off.
async fn load_bases(
    api: &Api,
    group: GroupId,
) -> Result<Vec<(KnowledgeBaseId, String)>, HttpError> {
    if !api.knowledge.is_enabled {
        return Ok(Vec::new());
    }
    let entries = api.knowledge.documents.bases(BaseAccess::Server).await?;
    let of_group =
        entries.into_iter().filter(|it| it.base.owner == group || it.shared_with.contains(&group));
    Ok(of_group.map(|it| (it.base.id, it.base.name)).collect())
}

/// Returns the active operators that a user may use; none while assignments are off.
async fn load_operators(api: &Api, user: UserId) -> Result<Vec<(OperatorId, String)>, HttpError> {
    if !api.assignments.is_enabled {
        return Ok(Vec::new());
    }
    let operators = api.assignments.assignments.operators(user).await?;
    Ok(operators.into_iter().map(|it| (it.id, it.name)).collect())
}

/// Returns the connectors that are granted to a group.
async fn load_connectors(
    api: &Api,
    group: GroupId,
) -> Result<Vec<(ConnectorId, String)>, HttpError> {
    let connectors = api.connectors.list().await?;
    let of_group = connectors.into_iter().filter(|it| it.groups.contains(&group));
    Ok(of_group.map(|it| (it.id, it.name)).collect())
}

/// Returns the limits of a group's members, with the source of each.
fn limits_of(settings: &GroupSettings, storage: StorageUse) -> Vec<EffectiveLimit> {
    let quotas = Quota::ALL.into_iter().map(|quota| {
        let value = settings.quota(quota);
        let source = match value {
            _ if settings.quotas.contains_key(&quota) => "group",
            Some(_) => "default",
            None => "settings",
        };
        // Only the storage of a user has its default in the settings.
        let value = value.or_else(|| i64::try_from(storage.limit).ok());
        EffectiveLimit { name: quota.name().to_owned(), value, source }
    });

    let budgets = BudgetPeriod::ALL.into_iter().map(|period| {
        let value = Some(settings.credits.of(period)).filter(|it| *it > 0);
        let source = if value.is_some() { "group" } else { "none" };
        EffectiveLimit { name: format!("Credits:{}", period.name()), value, source }
    });

    quotas.chain(budgets).collect()
}
