//! `/api/admin/client-policies` and `/api/admin/groups/{id}/client-policy`.

use actix_web::HttpResponse;
use actix_web::http::header::ETag;
use actix_web::web::{Data, Json};
use pia_kernel::{ClientPolicyId, GroupId, Timestamp};
use pia_policy::{
    AssignedPolicy, ClientPolicy, ClientPolicyDraft, ClientPolicyEntry, ClientPolicyError,
    PolicyDocument,
};
use pia_web::{ApiError, Body, Caller, PathId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::row_version::{ExpectedVersion, row_tag};
use crate::auth::Done;
use crate::{Api, HttpError};

/// Lists the client policies, by name.
pub(crate) async fn list(api: Data<Api>) -> Result<Json<Vec<ClientPolicySummary>>, HttpError> {
    let entries = api.run(|api| async move { api.client_policies.list().await }).await?;
    Ok(Json(entries.into_iter().map(Into::into).collect()))
}

/// Returns a client policy.
pub(crate) async fn show(api: Data<Api>, PathId(id): PathId) -> Result<HttpResponse, HttpError> {
    let policy =
        api.run(|api| async move { api.client_policies.find(ClientPolicyId(id)).await }).await?;
    let tag = ETag(row_tag(policy.updated_at));
    Ok(HttpResponse::Ok().insert_header(tag).json(ClientPolicyResponse::from(policy)))
}

/// Lists the groups that a client policy is assigned to.
pub(crate) async fn groups(
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Vec<PolicyGroup>>, HttpError> {
    let groups = api
        .run(|api| async move { api.client_policies.groups_of(ClientPolicyId(id)).await })
        .await?;
    let group = |(id, name): (GroupId, String)| PolicyGroup { id: id.to_string(), name };
    Ok(Json(groups.into_iter().map(group).collect()))
}

/// Creates a client policy.
pub(crate) async fn create(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<ClientPolicyRequest>,
) -> Result<HttpResponse, HttpError> {
    let by = caller.0.user;
    let draft = request.draft()?;
    let id = api.run(|api| async move { api.client_policies.create(by, draft).await }).await?;
    Ok(HttpResponse::Created().json(ClientPolicyCreated { id: id.to_string() }))
}

/// Replaces name, description and document of a client policy.
pub(crate) async fn replace(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
    ExpectedVersion(expected): ExpectedVersion,
    Body(request): Body<ClientPolicyRequest>,
) -> Result<Json<Done>, HttpError> {
    let by = caller.0.user;
    let draft = request.draft()?;
    api.run(|api| async move {
        api.client_policies.replace(by, ClientPolicyId(id), draft, expected).await
    })
    .await?;
    Ok(Json(Done::success()))
}

/// Deletes a client policy that isn't assigned to a group.
pub(crate) async fn delete(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Done>, HttpError> {
    let by = caller.0.user;
    api.run(|api| async move { api.client_policies.delete(by, ClientPolicyId(id)).await }).await?;
    Ok(Json(Done::success()))
}

/// Returns the client policy of a group.
pub(crate) async fn of_group(
    api: Data<Api>,
    PathId(group): PathId,
) -> Result<Json<GroupClientPolicy>, HttpError> {
    let policy =
        api.run(|api| async move { api.client_policies.of_group(GroupId(group)).await }).await?;
    Ok(Json(policy.into()))
}

/// Assigns a client policy to a group, or removes it.
pub(crate) async fn assign(
    caller: Caller,
    api: Data<Api>,
    PathId(group): PathId,
    Body(request): Body<AssignPolicyRequest>,
) -> Result<Json<GroupClientPolicy>, HttpError> {
    let by = caller.0.user;
    let group = GroupId(group);
    let policy = request.policy()?;
    let assigned_policy = api
        .run(|api| async move {
            api.client_policies.assign(by, group, policy).await?;
            api.client_policies.of_group(group).await
        })
        .await?;
    Ok(Json(assigned_policy.into()))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClientPolicyRequest {
    /// 1 to 100 characters, unique without regard to case.
    #[schema(value_type = String)]
    name: Option<String>,
    /// Description of at most 1,000 characters.
    description: Option<String>,
    /// A JSON object as text, at most 65,536 bytes, with the sections
    /// `defaults` and `enforce`. Blank sets nothing.
    document: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ClientPolicyCreated {
    id: String,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClientPolicyResponse {
    id: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// The document's text as it was sent, trimmed.
    document: String,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClientPolicySummary {
    id: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// Size of the document in UTF-8 bytes.
    document_bytes: usize,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    /// Number of groups that have the policy.
    group_count: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PolicyGroup {
    id: String,
    name: String,
}

/// Policy that members of a group get.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GroupClientPolicy {
    #[serde(skip_serializing_if = "Option::is_none")]
    policy_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// `{}` where the group has no policy.
    document: String,
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<Timestamp>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AssignPolicyRequest {
    /// Id of the policy; null takes the group's policy away.
    policy_id: Option<String>,
}

impl ClientPolicyRequest {
    fn draft(&self) -> Result<ClientPolicyDraft, HttpError> {
        let name = self.name.as_deref();
        let description = self.description.as_deref();
        Ok(ClientPolicyDraft::parse(name, description, self.document.as_deref())?)
    }
}

impl AssignPolicyRequest {
    /// Returns the id; an invalid one counts as an unknown policy.
    fn policy(&self) -> Result<Option<ClientPolicyId>, ApiError> {
        let parse = |text: &String| Uuid::try_parse(text).map(ClientPolicyId);
        let unknown = |_err| HttpError::from(ClientPolicyError::UnknownAssigned).into();
        self.policy_id.as_ref().map(parse).transpose().map_err(unknown)
    }
}

impl From<ClientPolicy> for ClientPolicyResponse {
    fn from(ClientPolicy { id, draft, updated_at }: ClientPolicy) -> Self {
        let ClientPolicyDraft { name, description, document } = draft;
        Self { id: id.to_string(), name, description, document: document.into_string(), updated_at }
    }
}

impl From<ClientPolicyEntry> for ClientPolicySummary {
    fn from(entry: ClientPolicyEntry) -> Self {
        Self {
            id: entry.id.to_string(),
            name: entry.name,
            description: entry.description,
            document_bytes: entry.document_bytes,
            updated_at: entry.updated_at,
            group_count: entry.group_count,
        }
    }
}

impl From<AssignedPolicy> for GroupClientPolicy {
    fn from(assigned: AssignedPolicy) -> Self {
        let Some(ClientPolicy { id, draft, updated_at }) = assigned else {
            let document = PolicyDocument::default().into_string();
            return Self { policy_id: None, name: None, document, updated_at: None };
        };
        Self {
            policy_id: Some(id.to_string()),
            name: Some(draft.name),
            document: draft.document.into_string(),
            updated_at: Some(updated_at),
        }
    }
}
