//! `/api/admin/client-policies/{id}/versions`.

use actix_web::web::{Data, Json, Query};
use pia_kernel::{ClientPolicyId, Timestamp, UserId};
use pia_policy::{PolicyComparison, PolicyVersion, PolicyVersionEntry, SettingDifference};
use pia_web::{Caller, PathId, PathVersion};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::row_version::ExpectedVersion;
use crate::auth::Done;
use crate::{Api, HttpError};

/// Lists the versions of a policy, newest first.
pub(crate) async fn list(
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Vec<PolicyVersionSummary>>, HttpError> {
    let versions = api
        .run(|api| async move { api.client_policies.versions(ClientPolicyId(id)).await })
        .await?;
    Ok(Json(versions.into_iter().map(Into::into).collect()))
}

/// Returns a version of a client policy.
pub(crate) async fn show(
    api: Data<Api>,
    PathVersion { id, number }: PathVersion,
) -> Result<Json<PolicyVersionResponse>, HttpError> {
    let version = api
        .run(|api| async move { api.client_policies.version(ClientPolicyId(id), number).await })
        .await?;
    Ok(Json(version.into()))
}

/// Compares a version of a client policy with another one.
pub(crate) async fn compare(
    api: Data<Api>,
    PathVersion { id, number }: PathVersion,
    Query(query): Query<ComparisonQuery>,
) -> Result<Json<ComparisonResponse>, HttpError> {
    let comparison = api
        .run(|api| async move {
            api.client_policies.compare(ClientPolicyId(id), number, query.with).await
        })
        .await?;
    Ok(Json(comparison.into()))
}

/// Replaces a client policy by one of its versions.
pub(crate) async fn restore(
    caller: Caller,
    api: Data<Api>,
    PathVersion { id, number }: PathVersion,
    ExpectedVersion(expected): ExpectedVersion,
) -> Result<Json<Done>, HttpError> {
    let by = caller.0.user;
    api.run(|api| async move {
        api.client_policies.restore(by, ClientPolicyId(id), number, expected).await
    })
    .await?;
    Ok(Json(Done::success()))
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PolicyVersionSummary {
    /// Number, from 1 on; the highest is the policy as it is now.
    number: i32,
    name: String,
    /// Size of the document in UTF-8 bytes.
    document_bytes: usize,
    #[schema(value_type = String, format = DateTime)]
    written_at: Timestamp,
    /// Id of the administrator; absent if unknown by now.
    #[serde(skip_serializing_if = "Option::is_none")]
    written_by: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PolicyVersionResponse {
    number: i32,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    document: String,
    #[schema(value_type = String, format = DateTime)]
    written_at: Timestamp,
    /// Id of the administrator; absent if unknown by now.
    #[serde(skip_serializing_if = "Option::is_none")]
    written_by: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ComparisonQuery {
    /// Number of the other version; the newest if omitted.
    with: Option<i32>,
}

/// Two versions, and the settings that differ between their documents.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ComparisonResponse {
    from: PolicyVersionResponse,
    to: PolicyVersionResponse,
    settings: Vec<DifferenceItem>,
}

/// Setting that differs. A document that does not set it has no value here.
#[derive(Debug, Serialize, ToSchema)]
struct DifferenceItem {
    /// `defaults` or `enforce`.
    section: String,
    setting: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Value>,
}

fn format_writer(user: Option<UserId>) -> Option<String> {
    user.map(|it| it.to_string())
}

impl From<PolicyVersionEntry> for PolicyVersionSummary {
    fn from(entry: PolicyVersionEntry) -> Self {
        let PolicyVersionEntry { number, name, document_bytes, written_at, written_by } = entry;
        Self { number, name, document_bytes, written_at, written_by: format_writer(written_by) }
    }
}

impl From<PolicyVersion> for PolicyVersionResponse {
    fn from(version: PolicyVersion) -> Self {
        let PolicyVersion { number, draft, written_at, written_by } = version;
        Self {
            number,
            name: draft.name,
            description: draft.description,
            document: draft.document.into_string(),
            written_at,
            written_by: format_writer(written_by),
        }
    }
}

impl From<PolicyComparison> for ComparisonResponse {
    fn from(comparison: PolicyComparison) -> Self {
        let PolicyComparison { from, to, settings } = comparison;
        Self {
            from: from.into(),
            to: to.into(),
            settings: settings.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<SettingDifference> for DifferenceItem {
    fn from(difference: SettingDifference) -> Self {
        let SettingDifference { section, setting, before, after } = difference;
        Self { section, setting, before, after }
    }
}
