//! `GET /auth/account`: storage use of the account.

use actix_web::web::{Data, Json};
use pia_kernel::StorageUse;
use pia_web::{ApiError, Caller};
use serde::Serialize;
use utoipa::ToSchema;

use crate::Api;

/// Returns the caller's account and its storage.
pub(crate) async fn show(
    caller: Caller,
    api: Data<Api>,
) -> Result<Json<AccountResponse>, ApiError> {
    let user = caller.0.user;
    let StorageUse { current, limit } =
        api.run(|api| async move { api.sync.support.storage(user).await }).await?;
    Ok(Json(AccountResponse { storage: StorageResponse { current, limit } }))
}

#[derive(Serialize, ToSchema)]
pub(crate) struct AccountResponse {
    /// Bytes stored for the account: chats and synchronised data.
    storage: StorageResponse,
}

#[derive(Serialize, ToSchema)]
struct StorageResponse {
    /// Stored bytes.
    current: u64,
    /// Maximum number of bytes.
    limit: u64,
}
