//! `POST /api/sync/push`: changes of a device.

use actix_web::web::{Data, Json};
use pia_kernel::Timestamp;
use pia_sync::{Assigned, Conflict, Pushed};
use pia_web::{Body, Caller, Gzipped};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::push_request;
use crate::{Api, HttpError};

/// Stores the changes of a device since its last sync.
pub(crate) async fn push(
    caller: Caller,
    api: Data<Api>,
    Gzipped(Body(request)): Gzipped<Body<Map<String, Value>>>,
) -> Result<Json<SyncPushResponse>, HttpError> {
    let user = caller.0.user;
    let push = push_request::parse(request)?;
    Ok(Json(api.run(|api| async move { api.sync.pushing.push(user, push).await }).await?.into()))
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SyncPushResponse {
    /// Number of the last stored change.
    #[schema(value_type = String, format = DateTime)]
    server_timestamp: Timestamp,
    /// Changes that did not apply as the device may expect.
    conflicts: Vec<SyncConflict>,
    /// Ids of items that were sent without one.
    assigned_ids: Vec<AssignedId>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SyncConflict {
    /// The channel: `templates`.
    entity: &'static str,
    id: String,
    /// `server_wins`: the change is not stored. `client_wins`: it is, and replaces a
    /// version that the device had not seen.
    resolution: &'static str,
    /// Reason for refusing the change itself: `missing_blobs`, `invalid_blobs`,
    /// `too_large`, `invalid_persona`, `managed_persona`, `unreadable`,
    /// `too_deep`, `account_not_encrypted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// Version that was stored before; only `id` and `deletedAt` of a deleted item.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<HashMap<String, Value>>)]
    server_version: Option<Box<RawValue>>,
}

#[derive(Debug, Serialize, ToSchema)]
struct AssignedId {
    /// The channel.
    entity: &'static str,
    /// Index in the request's list of the channel, from 0.
    index: usize,
    id: String,
}

impl From<Pushed> for SyncPushResponse {
    fn from(pushed: Pushed) -> Self {
        Self {
            server_timestamp: pushed.at,
            conflicts: pushed.conflicts.into_iter().map(Into::into).collect(),
            assigned_ids: pushed.assigned.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<Conflict> for SyncConflict {
    fn from(conflict: Conflict) -> Self {
        let Conflict { key, resolution, refusal, server_version } = conflict;
        Self {
            entity: key.channel.name(),
            id: key.id.to_string(),
            resolution: resolution.name(),
            reason: refusal.map(pia_sync::ItemRejection::name),
            server_version: server_version.and_then(|it| RawValue::from_string(it).ok()),
        }
    }
}

impl From<Assigned> for AssignedId {
    fn from(Assigned { key, index }: Assigned) -> Self {
        Self { entity: key.channel.name(), index, id: key.id.to_string() }
    }
}
