//! `GET /auth/me`: the caller's account.

use actix_web::web::{Data, Json};
use pia_identity::Account;
use pia_kernel::Timestamp;
use pia_web::{ApiError, Caller, Gates};
use serde::Serialize;
use utoipa::ToSchema;

use crate::Api;

/// Returns the caller's account.
pub(crate) async fn me(
    caller: Caller,
    api: Data<Api>,
    gates: Data<Gates>,
) -> Result<Json<MeResponse>, ApiError> {
    let user = caller.0.user;
    let account = api.run(|api| async move { api.identity.accounts.me(user).await }).await?;
    let owes_declaration = gates.rules.get().owes_declaration(account.customer);
    Ok(Json(MeResponse::new(account, owes_declaration)))
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MeResponse {
    /// GUID that never changes.
    id: String,
    email: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    display_name: Option<String>,
    /// Identity provider of the account: `local` for a password.
    provider: String,
    /// 0 not declared, 1 business, 2 consumer.
    customer_type: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    company_name: Option<String>,
    /// True if the account must declare whether it is a business before it can use
    /// routes other than `/auth/`.
    requires_business_profile: bool,
    /// True if the email address is verified.
    email_verified: bool,
    /// `user`, `kb_manager`, `org_manager` or `admin`.
    role: &'static str,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl MeResponse {
    fn new(account: Account, requires_business_profile: bool) -> Self {
        Self {
            id: account.user.to_string(),
            email: account.email,
            display_name: account.display_name,
            provider: account.provider,
            customer_type: account.customer.number(),
            company_name: account.company_name,
            requires_business_profile,
            email_verified: account.email_verified_at.is_some(),
            role: account.role.name(),
            created_at: account.created_at,
        }
    }
}
