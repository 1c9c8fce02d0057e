//! `/auth/webauthn/credentials`: the caller's passkeys.

use actix_web::web::{Data, Json};
use pia_identity::PasskeyEntry;
use pia_kernel::{PasskeyId, Timestamp};
use pia_web::{ApiError, Caller, PathId};
use serde::Serialize;
use utoipa::ToSchema;

use crate::Api;
use crate::auth::Done;

#[derive(Serialize, ToSchema)]
pub(crate) struct PasskeysResponse {
    /// In the order in which they were added.
    items: Vec<PasskeyItem>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PasskeyItem {
    id: String,
    name: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When it signed its owner in last; absent before it has.
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used_at: Option<Timestamp>,
}

pub(crate) async fn passkeys(
    caller: Caller,
    api: Data<Api>,
) -> Result<Json<PasskeysResponse>, ApiError> {
    let (passkeys, user) = (api.passkeys.clone(), caller.0.user);
    let list = async move { passkeys.list(user).await };
    let items = api.runner.run(list).await?.into_iter().map(Into::into).collect();
    Ok(Json(PasskeysResponse { items }))
}

pub(crate) async fn remove_passkey(
    caller: Caller,
    api: Data<Api>,
    PathId(id): PathId,
) -> Result<Json<Done>, ApiError> {
    let (passkeys, claim) = (api.passkeys.clone(), caller.claim());
    let remove = async move { passkeys.remove(claim, PasskeyId(id)).await };
    api.runner.run(remove).await?;
    Ok(Json(Done::success()))
}

impl From<PasskeyEntry> for PasskeyItem {
    fn from(entry: PasskeyEntry) -> Self {
        Self {
            id: entry.id.to_string(),
            name: entry.name,
            created_at: entry.created_at,
            last_used_at: entry.used_at,
        }
    }
}
