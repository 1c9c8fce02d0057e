//! `/api/admin/operators`: skills that administrators grant to groups.

use actix_web::HttpResponse;
use actix_web::web::{Data, Json};
use pia_assignments::{EntityType, Operator, OperatorDraft, Skill, SkillMode, SkillStep};
use pia_kernel::{GroupId, GroupSelection, OperatorId, Timestamp};
use pia_web::{Body, Caller, PathId, null_as_default};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::personas::{EntryGroupsRequest, required};
use crate::auth::Done;
use crate::{Api, HttpError};

/// Lists the operators with their skills and groups.
pub(crate) async fn list(api: Data<Api>) -> Result<Json<Vec<OperatorResponse>>, HttpError> {
    let operators =
        api.run(|api| async move { api.assignments.administration.operators().await }).await?;
    Ok(Json(operators.into_iter().map(Into::into).collect()))
}

/// Creates an operator, which is granted to no group.
pub(crate) async fn create(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<OperatorRequest>,
) -> Result<HttpResponse, HttpError> {
    let by = Some(caller.0.user);
    let operator: OperatorResponse = api
        .run(|api| async move { api.assignments.administration.create(by, request.into()).await })
        .await?
        .into();
    Ok(HttpResponse::Created().json(operator))
}

/// Changes an operator.
pub(crate) async fn update(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    Body(request): Body<OperatorRequest>,
) -> Result<Json<Done>, HttpError> {
    let by = Some(caller.0.user);
    api.run(|api| async move {
        api.assignments.administration.update(by, OperatorId(id), request.into(), None).await
    })
    .await?;
    Ok(Json(Done::success()))
}

/// Replaces the groups that an operator is granted to.
pub(crate) async fn grant(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    Body(request): Body<EntryGroupsRequest>,
) -> Result<Json<Done>, HttpError> {
    let by = Some(caller.0.user);
    let groups = required("groupIds", request.group_ids)?.into_iter().map(GroupId).collect();
    let groups = GroupSelection::Exactly(groups);
    api.run(
        |api| async move { api.assignments.administration.grant(by, OperatorId(id), groups).await },
    )
    .await?;
    Ok(Json(Done::success()))
}

/// Deletes an operator; its assignments go on.
pub(crate) async fn delete(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Done>, HttpError> {
    let by = Some(caller.0.user);
    api.run(|api| async move { api.assignments.administration.delete(by, OperatorId(id)).await })
        .await?;
    Ok(Json(Done::success()))
}

/// Operator to be created or changed.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OperatorRequest {
    /// Display name, up to 100 characters.
    #[schema(value_type = String)]
    name: Option<String>,
    /// False while nobody may use it. True by default for a new operator; a change
    /// without it keeps the value.
    is_active: Option<bool>,
    /// Skill. Required for a new operator; it cannot be changed if the server
    /// ships it.
    skill: Option<SkillDefinition>,
}

/// Skill as data.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SkillDefinition {
    /// Letters, digits, hyphens, dots and underscores, unique in any case.
    name: String,
    mode: SkillModeName,
    /// Types of items that it accepts.
    #[serde(default, deserialize_with = "null_as_default")]
    declared_input_types: Vec<InputTypeName>,
    /// Steps, the last of which makes the artifact.
    steps: Vec<SkillStepDefinition>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
pub(crate) enum SkillModeName {
    Assistant,
    Research,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum InputTypeName {
    AssistantChat,
    Session,
    Memory,
    Todo,
    Template,
}

/// Step of a skill: one turn of a model.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SkillStepDefinition {
    title: String,
    /// Instructions of the model, up to 20,000 characters.
    instructions: String,
    /// Maximum length of the response in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output: Option<i64>,
}

/// Operator with its groups.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OperatorResponse {
    #[schema(format = Uuid)]
    id: String,
    name: String,
    is_active: bool,
    /// False for a skill that the server ships, or that pods run.
    is_custom: bool,
    skill: SkillDefinition,
    #[schema(value_type = Vec<Uuid>)]
    group_ids: Vec<String>,
    /// URL that is notified when one of its assignments has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    webhook_url: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

impl From<OperatorRequest> for OperatorDraft {
    fn from(request: OperatorRequest) -> Self {
        let OperatorRequest { name, is_active, skill } = request;
        Self { name: name.unwrap_or_default(), is_active, skill: skill.map(Into::into) }
    }
}

impl From<SkillDefinition> for Skill {
    fn from(skill: SkillDefinition) -> Self {
        Self {
            name: skill.name,
            mode: match skill.mode {
                SkillModeName::Assistant => SkillMode::Assistant,
                SkillModeName::Research => SkillMode::Research,
            },
            declared_input_types: skill.declared_input_types.into_iter().map(Into::into).collect(),
            steps: skill.steps.into_iter().map(Into::into).collect(),
            host: None,
        }
    }
}

impl From<Skill> for SkillDefinition {
    fn from(skill: Skill) -> Self {
        Self {
            name: skill.name,
            mode: match skill.mode {
                SkillMode::Assistant => SkillModeName::Assistant,
                SkillMode::Research => SkillModeName::Research,
            },
            declared_input_types: skill.declared_input_types.into_iter().map(Into::into).collect(),
            steps: skill.steps.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<InputTypeName> for EntityType {
    fn from(it: InputTypeName) -> Self {
        match it {
            InputTypeName::AssistantChat => Self::AssistantChat,
            InputTypeName::Session => Self::Session,
            InputTypeName::Memory => Self::Memory,
            InputTypeName::Todo => Self::Todo,
            InputTypeName::Template => Self::Template,
        }
    }
}

impl From<EntityType> for InputTypeName {
    fn from(it: EntityType) -> Self {
        match it {
            EntityType::AssistantChat => Self::AssistantChat,
            EntityType::Session => Self::Session,
            EntityType::Memory => Self::Memory,
            EntityType::Todo => Self::Todo,
            EntityType::Template => Self::Template,
        }
    }
}

impl From<SkillStepDefinition> for SkillStep {
    fn from(it: SkillStepDefinition) -> Self {
        let SkillStepDefinition { title, instructions, max_output } = it;
        Self { title, instructions, max_output }
    }
}

impl From<SkillStep> for SkillStepDefinition {
    fn from(it: SkillStep) -> Self {
        let SkillStep { title, instructions, max_output } = it;
        Self { title, instructions, max_output }
    }
}

impl From<Operator> for OperatorResponse {
    fn from(operator: Operator) -> Self {
        Self {
            id: operator.id.to_string(),
            name: operator.name,
            is_active: operator.is_active,
            is_custom: operator.is_custom,
            skill: operator.skill.into(),
            group_ids: operator.groups.iter().map(ToString::to_string).collect(),
            webhook_url: operator.webhook_url,
            updated_at: operator.updated_at,
        }
    }
}
