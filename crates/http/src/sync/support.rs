//! `/api/sync/status`, `/events`, `/quota`, `/debug-state` and `/reset`:
//! diagnosis and reset of a user's synchronised data.

use actix_web::web::{Data, Json};
use pia_kernel::{StorageUse, Timestamp, Unavailable};
use pia_sync::{ChatInfo, ItemCounts, ItemInfo, SyncEvent, SyncStatus};
use pia_web::{ApiError, Caller, OptionalBody, Paging};
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::mfa::FreshProofRequest;
use crate::{Api, HttpError};

/// Returns the state of the caller's synchronised data.
pub(crate) async fn status(
    caller: Caller,
    api: Data<Api>,
) -> Result<Json<SyncStatusResponse>, HttpError> {
    let user = caller.0.user;
    Ok(Json(api.run(|api| async move { api.sync.support.status(user).await }).await?.into()))
}

/// Returns the quotas of each channel and of storage, and their use.
pub(crate) async fn quota(
    caller: Caller,
    api: Data<Api>,
) -> Result<Json<SyncQuotaResponse>, HttpError> {
    let user = caller.0.user;
    let (counts, StorageUse { current, limit }) = api
        .run(|api| async move {
            Ok::<_, Unavailable>((
                api.sync.support.counts(user).await?,
                api.sync.support.storage(user).await?,
            ))
        })
        .await?;
    let storage_quota = SyncQuota { entity: "storage", current, limit };
    let quotas = counts.into_iter().map(Into::into).chain([storage_quota]).collect();
    Ok(Json(SyncQuotaResponse { quotas }))
}

/// Lists the pushes and resets of the caller's data, newest first.
pub(crate) async fn events(
    caller: Caller,
    api: Data<Api>,
    Paging(page): Paging,
) -> Result<Json<SyncEventsResponse>, HttpError> {
    let user = caller.0.user;
    let page = api.run(|api| async move { api.sync.support.events(user, page).await }).await?;
    Ok(Json(SyncEventsResponse {
        items: page.items.into_iter().map(Into::into).collect(),
        next_cursor: page.next.map(Paging::format_cursor),
    }))
}

/// Lists all stored items of the caller without their contents.
pub(crate) async fn debug_state(
    caller: Caller,
    api: Data<Api>,
) -> Result<Json<SyncDebugStateResponse>, HttpError> {
    let user = caller.0.user;
    let (status, items, chats) = api
        .run(|api| async move {
            let status = api.sync.support.status(user).await?;
            let items = api.sync.support.all_items(user).await?;
            let chats = api.sync.support.chats(user).await?;
            Ok::<_, pia_sync::SupportError>((status, items, chats))
        })
        .await?;
    let encryptable = items.iter().filter(|it| it.key.channel.rules().may_be_encrypted);
    let plain = encryptable.filter(|it| !it.encrypted && it.deleted_at.is_none()).count()
        + chats.iter().filter(|it| !it.encrypted && it.deleted_at.is_none()).count();

    Ok(Json(SyncDebugStateResponse {
        status: status.into(),
        plain,
        items: items.into_iter().map(Into::into).collect(),
        chats: chats.into_iter().map(Into::into).collect(),
    }))
}

/// Deletes all synchronised data, chats and keys included. A session alone does
/// not suffice, since it may be stolen.
pub(crate) async fn reset(
    caller: Caller,
    api: Data<Api>,
    OptionalBody(request): OptionalBody<FreshProofRequest>,
) -> Result<Json<SyncResetResponse>, HttpError> {
    let proof = request.proof_if_any()?;
    api.run(|api| async move {
        api.identity.reauthenticator.require(caller.0, proof).await.map_err(ApiError::from)?;
        api.sync.support.reset(caller.0.user).await.map_err(HttpError::from)
    })
    .await?;
    Ok(Json(SyncResetResponse { success: true }))
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SyncStatusResponse {
    /// Watermark of a device that has everything.
    #[schema(value_type = String, format = DateTime)]
    watermark: Timestamp,
    /// Number of changes made so far.
    version: i64,
    /// Counts by channel.
    channels: Vec<ChannelCount>,
    /// Last event; absent if there never was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_event: Option<SyncEventItem>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ChannelCount {
    /// The channel: `templates`.
    entity: &'static str,
    /// Number of items.
    count: u32,
    /// Number of remembered deletions.
    deleted: u32,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SyncQuotaResponse {
    /// Quotas of the channels, followed by `storage`.
    quotas: Vec<SyncQuota>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SyncQuota {
    /// The channel: `templates`; or `storage`, whose unit is bytes, of stored
    /// chats too.
    entity: &'static str,
    /// Current number.
    current: u64,
    /// Maximum number. Beyond it, the oldest items of the channel `sessions` are
    /// removed.
    limit: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SyncEventsResponse {
    /// Events, newest first.
    items: Vec<SyncEventItem>,
    /// Cursor of the next page; absent on the last.
    #[serde(rename = "nextCursor", skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SyncEventItem {
    id: String,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// `push` or `reset`.
    kind: String,
    /// Device, if it named itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    device_id: Option<String>,
    /// Number of items stored.
    stored: u32,
    /// Number of deleted items.
    deleted: u32,
    /// Number of items that two devices had changed.
    conflicts: u32,
    /// Number of refused items.
    refused: u32,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SyncDebugStateResponse {
    #[serde(flatten)]
    status: SyncStatusResponse,
    /// Number of live items and chats that are not end-to-end encrypted but
    /// could be: zero once an encrypted account is fully encrypted.
    plain: usize,
    /// Everything that is stored, without what it says.
    items: Vec<DebugItem>,
    /// Every chat, without what it says.
    chats: Vec<DebugChat>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct DebugChat {
    id: String,
    /// Stamp: the server's time of the write.
    #[schema(value_type = String, format = DateTime)]
    stamp: Timestamp,
    /// Time of the last change, as reported by the chat.
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    /// Time of the deletion; absent if it exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    deleted_at: Option<Timestamp>,
    /// True if the chat is end-to-end encrypted.
    encrypted: bool,
    /// Size in bytes.
    size: u32,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct DebugItem {
    /// The channel: `templates`.
    entity: &'static str,
    id: String,
    /// Stamp: the server's time of the write, which `since` is compared with.
    #[schema(value_type = String, format = DateTime)]
    stamp: Timestamp,
    /// Time of the last change, by the device's clock.
    #[schema(value_type = String, format = DateTime)]
    changed_at: Timestamp,
    /// Time of the deletion; absent if the item exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    deleted_at: Option<Timestamp>,
    /// True if the item is end-to-end encrypted.
    encrypted: bool,
    /// Size in bytes.
    size: u32,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SyncResetResponse {
    success: bool,
}

impl From<SyncStatus> for SyncStatusResponse {
    fn from(status: SyncStatus) -> Self {
        Self {
            watermark: status.watermark,
            version: status.version,
            channels: status.counts.into_iter().map(Into::into).collect(),
            last_event: status.last_event.map(Into::into),
        }
    }
}

impl From<ItemCounts> for ChannelCount {
    fn from(count: ItemCounts) -> Self {
        Self { entity: count.channel.name(), count: count.live, deleted: count.deleted }
    }
}

impl From<ItemCounts> for SyncQuota {
    fn from(count: ItemCounts) -> Self {
        Self { entity: count.channel.name(), current: count.live.into(), limit: count.limit.into() }
    }
}

impl From<SyncEvent> for SyncEventItem {
    fn from(event: SyncEvent) -> Self {
        Self {
            id: event.id.to_string(),
            at: event.at,
            kind: event.kind,
            device_id: event.device,
            stored: event.stored,
            deleted: event.deleted,
            conflicts: event.conflicts,
            refused: event.refused,
        }
    }
}

impl From<ChatInfo> for DebugChat {
    fn from(info: ChatInfo) -> Self {
        Self {
            id: info.id.to_string(),
            stamp: info.stamp,
            updated_at: info.updated_at,
            deleted_at: info.deleted_at,
            encrypted: info.encrypted,
            size: info.size,
        }
    }
}

impl From<ItemInfo> for DebugItem {
    fn from(info: ItemInfo) -> Self {
        Self {
            entity: info.key.channel.name(),
            id: info.key.id.to_string(),
            stamp: info.stamp,
            changed_at: info.changed_at,
            deleted_at: info.deleted_at,
            encrypted: info.encrypted,
            size: info.size,
        }
    }
}
