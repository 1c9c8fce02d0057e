//! `/api/e2ee/recovery`: copy of the account's key under the recovery code, and
//! its proof key.

use actix_web::HttpResponse;
use actix_web::web::{Data, Json};
use pia_e2ee::{ProofKeyForm, RecoveryCopy, RecoveryForm};
use pia_identity::ReauthProof;
use pia_kernel::{Secret, Timestamp};
use pia_web::{ApiError, Body, Caller};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::WRAP_VERSION;
use crate::auth::Done;
use crate::auth::mfa::FreshProofRequest;
use crate::{Api, HttpError};

/// Returns the recovery copy of the account's key.
pub(crate) async fn recovery(
    caller: Caller,
    api: Data<Api>,
) -> Result<Json<RecoveryWrappedUmkResponse>, HttpError> {
    let user = caller.0.user;
    Ok(Json(api.run(|api| async move { api.e2ee.recovery.find(user).await }).await?.into()))
}

/// Stores or replaces the recovery copy of the account's key.
pub(crate) async fn store_recovery(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<RecoveryWrappedUmkRequest>,
) -> Result<Json<Done>, HttpError> {
    let (form, proof) = request.split()?;
    api.run(|api| async move {
        let owner = api.owner(caller.0, proof).await?;
        api.e2ee.recovery.store_copy(owner, form).await.map_err(HttpError::from)
    })
    .await?;
    Ok(Json(Done::success()))
}

/// Locks the recovery copy with a proof key for good; the same key may be stored again.
pub(crate) async fn put_proof_key(
    caller: Caller,
    api: Data<Api>,
    Body(request): Body<RecoveryProofKeyRequest>,
) -> Result<HttpResponse, HttpError> {
    let RecoveryProofKeyRequest { proof_key, version, proof } = request;
    let form = ProofKeyForm { proof_key, version };
    let proof = proof.proof_if_any()?;
    api.run(|api| async move {
        let owner = api.owner(caller.0, proof).await?;
        api.e2ee.recovery.put_proof_key(owner, form).await.map_err(HttpError::from)
    })
    .await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Account's key, wrapped with a key that Argon2id derives from the recovery code.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecoveryWrappedUmkRequest {
    /// Wrapped key: 60 bytes in base64.
    #[schema(value_type = String)]
    ciphertext: Option<String>,
    /// 32 bytes in base64.
    #[schema(value_type = String)]
    kdf_salt: Option<String>,
    /// 8 to 4,194,304.
    #[schema(value_type = i64)]
    kdf_memory_cost_kb: Option<i64>,
    /// 1 to 1,000.
    #[schema(value_type = i64)]
    kdf_time_cost: Option<i64>,
    /// 1 to 255.
    #[schema(value_type = i64)]
    kdf_parallelism: Option<i64>,
    /// 1, which is meant where there is none.
    wrap_version: Option<i64>,
    /// Version of the account's key; 1 by default.
    umk_version: Option<i64>,
    /// Needed where `umkVersion` is raised, unless the user has just signed in.
    #[serde(flatten)]
    proof: FreshProofRequest,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecoveryWrappedUmkResponse {
    ciphertext: String,
    kdf_salt: String,
    kdf_memory_cost_kb: i32,
    kdf_time_cost: i32,
    kdf_parallelism: i32,
    wrap_version: i32,
    umk_version: i32,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

/// Key that verifies proofs of having opened the recovery copy.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecoveryProofKeyRequest {
    /// 32 bytes in base64. They are never reported.
    #[schema(value_type = String)]
    proof_key: Option<Secret<String>>,
    /// 1, which is meant where there is none.
    version: Option<i64>,
    /// Needed for the first proof key, unless the user has just signed in.
    #[serde(flatten)]
    proof: FreshProofRequest,
}

impl RecoveryWrappedUmkRequest {
    fn split(self) -> Result<(RecoveryForm, Option<ReauthProof>), ApiError> {
        let form = RecoveryForm {
            ciphertext: self.ciphertext,
            kdf_salt: self.kdf_salt,
            kdf_memory_cost_kb: self.kdf_memory_cost_kb,
            kdf_time_cost: self.kdf_time_cost,
            kdf_parallelism: self.kdf_parallelism,
            wrap_version: self.wrap_version,
            umk_version: self.umk_version,
        };
        Ok((form, self.proof.proof_if_any()?))
    }
}

impl From<RecoveryCopy> for RecoveryWrappedUmkResponse {
    fn from(copy: RecoveryCopy) -> Self {
        Self {
            ciphertext: copy.ciphertext,
            kdf_salt: copy.kdf_salt,
            kdf_memory_cost_kb: copy.kdf_memory_kib,
            kdf_time_cost: copy.kdf_time,
            kdf_parallelism: copy.kdf_parallelism,
            wrap_version: WRAP_VERSION,
            umk_version: copy.umk_version,
            created_at: copy.created_at,
        }
    }
}
