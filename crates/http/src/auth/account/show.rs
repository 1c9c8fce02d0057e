//! `GET /auth/account`: storage use of the account.

use actix_web::web::{Data, Json};
use pia_kernel::StorageUse;
use pia_web::{ApiError, Caller};
use serde::Serialize;
use utoipa::ToSchema;

use crate::Api;

#[derive(Serialize, ToSchema)]
pub(crate) struct AccountResponse {
    /// The bytes of everything stored for the account: chats and what its
    /// devices keep in step.
    storage: StorageResponse,
}

#[derive(Serialize, ToSchema)]
struct StorageResponse {
    /// The bytes stored now.
    current: u64,
    /// The bytes that may be stored.
    limit: u64,
}

pub(crate) async fn show(
    caller: Caller,
    api: Data<Api>,
) -> Result<Json<AccountResponse>, ApiError> {
    let (support, user) = (api.sync.support.clone(), caller.0.user);
    let StorageUse { current, limit } =
        api.runner.run(async move { support.storage(user).await }).await?;
    Ok(Json(AccountResponse { storage: StorageResponse { current, limit } }))
}
